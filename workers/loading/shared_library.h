#ifndef SAMEBITS_WORKERS_LOADING_SHARED_LIBRARY_H_
#define SAMEBITS_WORKERS_LOADING_SHARED_LIBRARY_H_

// Vendors' libraries, opened at run time, so that one binary serves machines with and without them.

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace samebits::workers {

struct LibraryVersion {
  std::string name, version;
};

// The library that the environment's `variable` names, else the first of `names` that the loader finds. It stays open.
// UNAVAILABLE, with what the loader said, where there is none. Thread-safe as long as nothing changes the environment.
absl::StatusOr<void*> OpenSharedLibrary(const char* variable, std::vector<const char*> names);

// Functions of an open library.
class FunctionFinder {
 public:
  explicit FunctionFinder(void* library) : library_(library) {}

  // *function stays null where the library lacks it.
  template <typename Function>
  void Find(const char* name, Function** function) {
    *function = reinterpret_cast<Function*>(Symbol(name));
    if (*function == nullptr && missing_.empty()) missing_ = name;
  }
  template <typename Function>
  void FindOptional(const char* name, Function** function) {
    *function = reinterpret_cast<Function*>(Symbol(name));
  }

  // UNAVAILABLE, naming the first function that `Find` missed.
  absl::Status status() const;

 private:
  void* Symbol(const char* name) const;

  void* library_;
  std::string missing_;
};

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_LOADING_SHARED_LIBRARY_H_
