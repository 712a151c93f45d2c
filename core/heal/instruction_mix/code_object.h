#ifndef SAMEBITS_CORE_HEAL_INSTRUCTION_MIX_CODE_OBJECT_H_
#define SAMEBITS_CORE_HEAL_INSTRUCTION_MIX_CODE_OBJECT_H_

// What kind of file holds machine code, by its first bytes, and the kernels of an ELF object by its section names.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace samebits::heal {

enum class FileKind : uint8_t {
  kCubin,       // ELF of CUDA
  kAmdgcn,      // ELF of AMD
  kHostElf,     // library or program, may hold fatbins
  kFatbin,
  kArchive,     // static library
  kHipBundle,   // clang's offload bundle: several AMD code objects
  kPtx,
  kText,        // anything else
};
// `head`: the file's first bytes, 64 or more if it has them.
FileKind KindOf(std::string_view head);

// "gfx942" of an AMD code object's header; empty where it is not known here.
std::string AmdgcnTarget(std::string_view head);

// NAME of each section ".text.NAME" of a 64-bit little-endian ELF image. Nothing where the image is damaged.
std::optional<std::vector<std::string>> TextSections(std::string_view image);

}  // namespace samebits::heal

#endif  // SAMEBITS_CORE_HEAL_INSTRUCTION_MIX_CODE_OBJECT_H_
