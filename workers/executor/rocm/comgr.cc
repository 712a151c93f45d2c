#include "workers/executor/rocm/comgr.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "workers/loading/return_if.h"
#include "workers/loading/shared_library.h"

namespace samebits::workers {
namespace {

using Functions = Comgr::Functions;
using Handle = Comgr::Handle;

// amd_comgr_status_t and amd_comgr_data_kind_t.
constexpr int kSuccess = 0, kErrorOutOfResources = 3;
constexpr int kSource = 1, kLog = 5, kExecutable = 8;
constexpr size_t kMostLog = 1000, kMostCodeObject = 256 << 20;

absl::Status ToStatus(int status, const char* call) {
  if (status == kSuccess) return absl::OkStatus();
  const std::string message = absl::StrCat(call, ": status ", status);
  return status == kErrorOutOfResources ? absl::ResourceExhaustedError(message) : absl::InternalError(message);
}

// A handle that is given back with the object.
class Owned {
 public:
  explicit Owned(int (*destroy)(Handle)) : destroy_(destroy) {}
  ~Owned() {
    if (handle_.value != 0) destroy_(handle_);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  Handle* out() { return &handle_; }
  Handle get() const { return handle_; }

 private:
  int (*destroy_)(Handle);
  Handle handle_;
};

// The first data object of a kind in a set.
absl::StatusOr<std::string> Content(const Functions& call, Handle set, int kind) {
  size_t count = 0, bytes = 0;
  SAMEBITS_RETURN_IF(ToStatus(call.amd_comgr_action_data_count(set, kind, &count), "amd_comgr_action_data_count"));
  if (count == 0) return absl::InternalError("comgr made no such data");
  Owned data(call.amd_comgr_release_data);
  SAMEBITS_RETURN_IF(
      ToStatus(call.amd_comgr_action_data_get_data(set, kind, 0, data.out()), "amd_comgr_action_data_get_data"));
  SAMEBITS_RETURN_IF(ToStatus(call.amd_comgr_get_data(data.get(), &bytes, nullptr), "amd_comgr_get_data"));
  if (bytes > kMostCodeObject) return absl::ResourceExhaustedError("the code object has more than 256 MiB");
  std::string content(bytes, '\0');
  SAMEBITS_RETURN_IF(ToStatus(call.amd_comgr_get_data(data.get(), &bytes, content.data()), "amd_comgr_get_data"));
  return content;
}

// `result` holds the log where the action fails.
absl::Status Act(const Functions& call, int action, const char* what, Handle info, Handle input, Handle result) {
  const int status = call.amd_comgr_do_action(action, info, input, result);
  if (status == kSuccess || status == kErrorOutOfResources) return ToStatus(status, what);
  const absl::StatusOr<std::string> log = Content(call, result, kLog);
  const absl::string_view words = log.ok() ? absl::StripAsciiWhitespace(absl::string_view(*log).substr(0, kMostLog)) : "";
  return absl::InvalidArgumentError(absl::StrCat("the text does not ", what, words.empty() ? "" : ": ", words));
}

}  // namespace

#define SAMEBITS_FIND(function) finder.Find(#function, &call.function)

absl::StatusOr<std::shared_ptr<const Comgr>> Comgr::Load() {
  const absl::StatusOr<void*> library = OpenSharedLibrary(
      "SAMEBITS_COMGR", {"libamd_comgr.so.3", "libamd_comgr.so.2", "/opt/rocm/lib/libamd_comgr.so", "libamd_comgr.so"});
  if (!library.ok()) return library.status();
  auto comgr = std::make_shared<Comgr>();
  Functions& call = comgr->call_;
  FunctionFinder finder(*library);
  SAMEBITS_FIND(amd_comgr_get_version);
  SAMEBITS_FIND(amd_comgr_create_data);
  SAMEBITS_FIND(amd_comgr_release_data);
  SAMEBITS_FIND(amd_comgr_set_data);
  SAMEBITS_FIND(amd_comgr_set_data_name);
  SAMEBITS_FIND(amd_comgr_get_data);
  SAMEBITS_FIND(amd_comgr_create_data_set);
  SAMEBITS_FIND(amd_comgr_destroy_data_set);
  SAMEBITS_FIND(amd_comgr_data_set_add);
  SAMEBITS_FIND(amd_comgr_action_data_count);
  SAMEBITS_FIND(amd_comgr_action_data_get_data);
  SAMEBITS_FIND(amd_comgr_create_action_info);
  SAMEBITS_FIND(amd_comgr_destroy_action_info);
  SAMEBITS_FIND(amd_comgr_action_info_set_isa_name);
  SAMEBITS_FIND(amd_comgr_action_info_set_logging);
  SAMEBITS_FIND(amd_comgr_do_action);
  SAMEBITS_RETURN_IF(finder.status());
  size_t major = 0, minor = 0;
  call.amd_comgr_get_version(&major, &minor);
  comgr->version_ = absl::StrCat(major, ".", minor);
  // Interface 3 dropped two actions from the front of the list.
  if (major == 2) comgr->assemble_ = 10, comgr->link_ = 9;
  if (major == 3) comgr->assemble_ = 8, comgr->link_ = 7;
  if (comgr->assemble_ == 0)
    return absl::UnavailableError(absl::StrCat("libamd_comgr has interface ", comgr->version_, ", neither 2 nor 3"));
  return std::shared_ptr<const Comgr>(std::move(comgr));
}

absl::StatusOr<std::string> Comgr::Assemble(const std::string& text, const std::string& processor) const {
  Owned source(call_.amd_comgr_release_data), info(call_.amd_comgr_destroy_action_info);
  Owned sources(call_.amd_comgr_destroy_data_set), objects(call_.amd_comgr_destroy_data_set),
      executables(call_.amd_comgr_destroy_data_set);
  SAMEBITS_RETURN_IF(ToStatus(call_.amd_comgr_create_data(kSource, source.out()), "amd_comgr_create_data"));
  SAMEBITS_RETURN_IF(ToStatus(call_.amd_comgr_set_data(source.get(), text.size(), text.data()), "amd_comgr_set_data"));
  SAMEBITS_RETURN_IF(ToStatus(call_.amd_comgr_set_data_name(source.get(), "kernel.s"), "amd_comgr_set_data_name"));
  for (Owned* set : {&sources, &objects, &executables})
    SAMEBITS_RETURN_IF(ToStatus(call_.amd_comgr_create_data_set(set->out()), "amd_comgr_create_data_set"));
  SAMEBITS_RETURN_IF(ToStatus(call_.amd_comgr_data_set_add(sources.get(), source.get()), "amd_comgr_data_set_add"));
  SAMEBITS_RETURN_IF(ToStatus(call_.amd_comgr_create_action_info(info.out()), "amd_comgr_create_action_info"));
  if (call_.amd_comgr_action_info_set_isa_name(info.get(), processor.c_str()) != kSuccess)
    return absl::InvalidArgumentError(absl::StrCat("this machine's libamd_comgr does not know ", processor));
  SAMEBITS_RETURN_IF(
      ToStatus(call_.amd_comgr_action_info_set_logging(info.get(), true), "amd_comgr_action_info_set_logging"));
  SAMEBITS_RETURN_IF(Act(call_, assemble_, "assemble", info.get(), sources.get(), objects.get()));
  SAMEBITS_RETURN_IF(Act(call_, link_, "link", info.get(), objects.get(), executables.get()));
  return Content(call_, executables.get(), kExecutable);
}

}  // namespace samebits::workers
