#ifndef SAMEBITS_WORKERS_EXECUTOR_ROCM_COMGR_H_
#define SAMEBITS_WORKERS_EXECUTOR_ROCM_COMGR_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace samebits::workers {

// AMD's code object manager, libamd_comgr.so, opened at run time; the variable SAMEBITS_COMGR names another. Prototypes and
// numbers are those of its interface 2 (ROCm 6) and 3 (ROCm 7), which number the actions differently. Thread-safe.
class Comgr {
 public:
  // UNAVAILABLE where it is not there, lacks a function, or has another interface.
  static absl::StatusOr<std::shared_ptr<const Comgr>> Load();

  // The code object of an assembler text for a processor, "amdgcn-amd-amdhsa--gfx942": an ELF file that HIP loads.
  // INVALID_ARGUMENT with the assembler's words, RESOURCE_EXHAUSTED, INTERNAL.
  absl::StatusOr<std::string> Assemble(const std::string& text, const std::string& processor) const;

  const std::string& version() const { return version_; }  // of its interface: "3.0"

  // All handles are structures of one 64-bit field, passed by value.
  struct Handle {
    uint64_t value = 0;
  };
  struct Functions {
    void (*amd_comgr_get_version)(size_t* major, size_t* minor) = nullptr;
    int (*amd_comgr_create_data)(int kind, Handle* data) = nullptr;
    int (*amd_comgr_release_data)(Handle data) = nullptr;
    int (*amd_comgr_set_data)(Handle data, size_t bytes, const char* content) = nullptr;
    int (*amd_comgr_set_data_name)(Handle data, const char* name) = nullptr;
    int (*amd_comgr_get_data)(Handle data, size_t* bytes, char* content) = nullptr;
    int (*amd_comgr_create_data_set)(Handle* set) = nullptr;
    int (*amd_comgr_destroy_data_set)(Handle set) = nullptr;
    int (*amd_comgr_data_set_add)(Handle set, Handle data) = nullptr;
    int (*amd_comgr_action_data_count)(Handle set, int kind, size_t* count) = nullptr;
    int (*amd_comgr_action_data_get_data)(Handle set, int kind, size_t index, Handle* data) = nullptr;
    int (*amd_comgr_create_action_info)(Handle* info) = nullptr;
    int (*amd_comgr_destroy_action_info)(Handle info) = nullptr;
    int (*amd_comgr_action_info_set_isa_name)(Handle info, const char* name) = nullptr;
    int (*amd_comgr_action_info_set_logging)(Handle info, bool logging) = nullptr;
    int (*amd_comgr_do_action)(int kind, Handle info, Handle input, Handle result) = nullptr;
  };

 private:
  Functions call_;
  std::string version_;
  int assemble_ = 0, link_ = 0;  // actions
};

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_EXECUTOR_ROCM_COMGR_H_
