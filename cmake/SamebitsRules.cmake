# Rules that every folder uses:
#   samebits_library(NAME DEPS ...)        all *.cc of the folder (not of its subfolders) as library samebits_NAME
#   samebits_test_folder(LIBS ...)         one gtest binary from all *_test.cc of the folder, named by its path
#   samebits_kernel_texts(HEADER PIECES..)  kernel_texts.cc in the build's folder: the files' texts, kText_NAME each, which
#                                          HEADER declares in samebits::workers
#   samebits_fuzzer(NAME SOURCE LIBS ...)  a libFuzzer target, only with SAMEBITS_BUILD_FUZZERS

add_library(samebits_options INTERFACE)
target_include_directories(samebits_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(samebits_options INTERFACE -Wall -Wextra -Werror -Wno-sign-compare -Wno-missing-field-initializers
                       -ffp-contract=off -fno-strict-aliasing
                       # values of registers and addresses are modulo 2^64
                       -fwrapv
                       # false positives of g++ 12 on inlined vectors
                       $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
if(SAMEBITS_SANITIZE)
  target_compile_options(samebits_options INTERFACE -fsanitize=${SAMEBITS_SANITIZE} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all)
  target_link_options(samebits_options INTERFACE -fsanitize=${SAMEBITS_SANITIZE})
endif()
if(SAMEBITS_BUILD_FUZZERS)
  target_compile_options(samebits_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

find_program(SAMEBITS_CCACHE ccache)
if(SAMEBITS_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${SAMEBITS_CCACHE})
endif()

function(samebits_library name)
  cmake_parse_arguments(ARG "" "" "DEPS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS *.cc)
  list(FILTER sources EXCLUDE REGEX "_(test|fuzz|main)\\.cc$")
  if(sources)
    add_library(samebits_${name} STATIC ${sources})
    target_link_libraries(samebits_${name} PRIVATE samebits_options PUBLIC ${ARG_DEPS})
  else()
    add_library(samebits_${name} INTERFACE)
    target_link_libraries(samebits_${name} INTERFACE ${ARG_DEPS})
  endif()
endfunction()

function(samebits_test_folder)
  cmake_parse_arguments(ARG "" "" "LIBS" ${ARGN})
  if(NOT SAMEBITS_BUILD_TESTS)
    return()
  endif()
  file(GLOB sources CONFIGURE_DEPENDS *_test.cc)
  if(NOT sources)
    return()
  endif()
  file(RELATIVE_PATH where ${PROJECT_SOURCE_DIR}/tests ${CMAKE_CURRENT_SOURCE_DIR})
  string(REPLACE "/" "_" target ${where})
  add_executable(${target}_tests ${sources})
  target_link_libraries(${target}_tests PRIVATE samebits_options ${ARG_LIBS} GTest::gtest GTest::gmock GTest::gtest_main)
  target_compile_definitions(${target}_tests PRIVATE SAMEBITS_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                             SAMEBITS_BINARY_DIR="${PROJECT_BINARY_DIR}")
  if(TARGET samebits_tsan_absl)
    target_sources(${target}_tests PRIVATE $<TARGET_OBJECTS:samebits_tsan_absl>)
    target_link_libraries(${target}_tests PRIVATE absl::synchronization)
  endif()
  add_test(NAME ${target} COMMAND ${target}_tests)
endfunction()

function(samebits_fuzzer name source)
  cmake_parse_arguments(ARG "" "" "LIBS" ${ARGN})
  if(SAMEBITS_BUILD_FUZZERS)
    add_executable(${name} ${source})
    target_link_libraries(${name} PRIVATE samebits_options ${ARG_LIBS})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  endif()
endfunction()

function(samebits_kernel_texts header)
  set(texts "// Made from files.\n#include \"${header}\"\n\nnamespace samebits::workers {\n")
  foreach(piece ${ARGN})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${piece})
    file(READ ${piece} text)
    get_filename_component(name ${piece} NAME_WE)
    string(APPEND texts "\nconst char kText_${name}[] = R\"samebits(${text})samebits\";\n")
  endforeach()
  string(APPEND texts "\n}  // namespace samebits::workers\n")
  file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/kernel_texts.cc CONTENT "${texts}")
endfunction()
