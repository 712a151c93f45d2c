#include "workers/loading/shared_library.h"

#include <dlfcn.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace samebits::workers {

absl::StatusOr<void*> OpenSharedLibrary(const char* variable, std::vector<const char*> names) {
  if (const char* named = std::getenv(variable); named != nullptr) names = {named};
  std::string why;
  for (const char* name : names) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_GLOBAL); library != nullptr) return library;
    const char* said = dlerror();
    if (why.empty() && said != nullptr) why = said;
  }
  return absl::UnavailableError(absl::StrCat(names[0], " is not found; ", variable, " may name it (", why, ")"));
}

void* FunctionFinder::Symbol(const char* name) const { return dlsym(library_, name); }

absl::Status FunctionFinder::status() const {
  if (missing_.empty()) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(missing_, " is not found"));
}

}  // namespace samebits::workers
