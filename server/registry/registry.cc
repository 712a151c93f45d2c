#include "server/registry/registry.h"

#include <algorithm>
#include <array>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/registry/codec.h"
#include "server/registry/compare_call.h"
#include "server/registry/digest.h"
#include "server/registry/explain_call.h"

namespace samebits::server {
namespace {

constexpr int kDefaultPage = 100, kLargestPage = 1000;

int ThreadCount(int requested) {
  return requested > 0 ? requested : std::max(2, static_cast<int>(std::thread::hardware_concurrency()));
}

checker::Limits CheckLimits(const ServerLimits& limits) {
  checker::Limits check = limits.check;
  check.max_text_bytes = limits.max_text_bytes;
  return check;
}

absl::Status CheckTextSize(std::string_view text, const ServerLimits& limits) {
  if (text.empty()) return InvalidField("text", "must not be empty");
  if (text.size() > limits.max_text_bytes) return LimitExceeded("max_text_bytes", limits.max_text_bytes, text.size());
  return absl::OkStatus();
}

absl::StatusOr<Digest> NameToDigest(std::string_view name) {
  if (const std::optional<Digest> digest = ParseKernelName(name)) return *digest;
  return InvalidField("name", "must be kernels/ and the 64 lower-case hex digits of the text's SHA-256");
}

}  // namespace

Registry::Registry(Config config)
    : config_(std::move(config)),
      check_threads_(ThreadCount(config_.check_threads)),
      texts_(config_.limits.max_pending_text_bytes),
      checks_(check_threads_, config_.limits.max_queued_checks, "max_queued_checks"),
      store_calls_(config_.store_threads, config_.limits.max_queued_store_calls, "max_queued_store_calls"),
      signatures_({config_.checker, config_.store.get(), &checks_, &texts_, config_.metrics}, config_.limits,
                  config_.cache_entries) {}

Registry::~Registry() { Stop(); }

void Registry::Stop() {
  store_calls_.Stop();
  checks_.Stop();
}

template <typename T, typename Work>
void Registry::OnStoreThread(Done<T> done, Work work) {
  auto once = std::make_shared<DoneOnce<T>>(std::move(done));
  absl::Status status = store_calls_.Submit(
      [this, once, work = std::move(work)](bool run) mutable {
        absl::StatusOr<T> answer = run ? work() : absl::StatusOr<T>(ShuttingDown());
        const std::optional<ErrorDetail> detail = GetErrorDetail(answer.status());
        if (detail && detail->reason == "STORAGE") metrics().CountStoreError();
        once->Deliver(std::move(answer));
      },
      TaskPool::Admission::kQueue);
  if (!status.ok()) once->Deliver(std::move(status));
}

absl::StatusOr<Kernel> Registry::ToKernel(storage::KernelRecord record) const {
  absl::StatusOr<checker::TextInfo> info = DecodeTextInfo(record.description);
  if (!info.ok()) return WithDetail(info.status(), "STORAGE", {});
  return Kernel{std::move(record), *std::move(info), {}};
}

absl::StatusOr<Kernel> Registry::RegisterNow(const std::string& text) {
  absl::StatusOr<checker::TextInfo> info = checker().DescribeText(text, CheckLimits(limits()));
  if (!info.ok()) return info.status();
  const storage::KernelRecord record{ContentDigest(text), absl::Now(), text.size(), EncodeTextInfo(*info)};
  absl::StatusOr<storage::KernelStore::PutResult> put = config_.store->PutKernel(record, text);
  if (!put.ok()) return FromStore(put.status(), KernelName(record.digest));
  return ToKernel(std::move(put->kernel));
}

void Registry::Register(std::string_view text, Done<Kernel> done) {
  if (absl::Status status = CheckTextSize(text, limits()); !status.ok()) return done(status);
  absl::StatusOr<std::shared_ptr<const std::string>> held = texts_.Hold(text);
  if (!held.ok()) return done(held.status());
  OnStoreThread<Kernel>(std::move(done), [this, text = *std::move(held)] { return RegisterNow(*text); });
}

void Registry::GetKernel(std::string_view name, bool with_text, Done<Kernel> done) {
  const absl::StatusOr<Digest> digest = NameToDigest(name);
  if (!digest.ok()) return done(digest.status());
  OnStoreThread<Kernel>(std::move(done), [this, digest = *digest, with_text]() -> absl::StatusOr<Kernel> {
    absl::StatusOr<storage::KernelRecord> record = config_.store->GetKernel(digest);
    if (!record.ok()) return FromStore(record.status(), KernelName(digest));
    absl::StatusOr<Kernel> kernel = ToKernel(*std::move(record));
    if (!kernel.ok() || !with_text) return kernel;
    absl::StatusOr<std::string> text = signatures_.LoadText(digest);
    if (!text.ok()) return text.status();
    kernel->text = *std::move(text);
    return kernel;
  });
}

absl::StatusOr<KernelList> Registry::ListNow(int page_size, const std::optional<Digest>& after) {
  absl::StatusOr<storage::KernelPage> page = config_.store->ListKernels(after, page_size);
  if (!page.ok()) return FromStore(page.status(), "");
  KernelList list;
  if (page->more) list.next_page_token = DigestHex(page->kernels.back().digest);
  for (storage::KernelRecord& record : page->kernels) {
    absl::StatusOr<Kernel> kernel = ToKernel(std::move(record));
    if (!kernel.ok()) return kernel.status();
    list.kernels.push_back(*std::move(kernel));
  }
  return list;
}

void Registry::ListKernels(int page_size, std::string_view page_token, Done<KernelList> done) {
  if (page_size < 0) return done(InvalidField("page_size", "must not be negative"));
  page_size = std::min(page_size == 0 ? kDefaultPage : page_size, kLargestPage);
  const std::optional<Digest> after = ParseDigestHex(page_token);
  if (!page_token.empty() && !after) return done(InvalidField("page_token", "is not a token of this service"));
  OnStoreThread<KernelList>(std::move(done), [this, page_size, after] { return ListNow(page_size, after); });
}

void Registry::DeleteKernel(std::string_view name, Done<absl::monostate> done) {
  const absl::StatusOr<Digest> digest = NameToDigest(name);
  if (!digest.ok()) return done(digest.status());
  OnStoreThread<absl::monostate>(std::move(done), [this, digest = *digest]() -> absl::StatusOr<absl::monostate> {
    absl::Status status = config_.store->DeleteKernel(digest);
    signatures_.Forget(digest);
    if (!status.ok()) return FromStore(status, KernelName(digest));
    return absl::monostate();
  });
}

absl::StatusOr<Subject> Registry::Resolve(const KernelLaunch& kernel, const CheckOptions& options) const {
  Subject subject;
  if (kernel.has_name) {
    absl::StatusOr<Digest> digest = NameToDigest(kernel.name);
    if (!digest.ok()) return digest.status();
    subject.key.kernel = *digest;
  } else {
    if (absl::Status status = CheckTextSize(kernel.text, limits()); !status.ok()) return status;
    subject.key.kernel = ContentDigest(kernel.text);
    subject.text = kernel.text;
  }
  subject.registered = kernel.has_name;
  subject.key.launch = LaunchDigest(kernel.launch, kernel.float_widths, options);
  subject.key.version = checker().SignatureVersion();
  subject.launch = &kernel.launch;
  subject.float_widths = &kernel.float_widths;
  subject.options = options;
  return subject;
}

CallHandle Registry::ComputeSignature(const KernelLaunch& kernel, const CheckOptions& options,
                                      TaskPool::Admission admission, Done<SignatureAnswer> done) {
  const absl::StatusOr<Subject> subject = Resolve(kernel, options);
  if (!subject.ok()) {
    done(subject.status());
    return nullptr;
  }
  return signatures_.Get(*subject, admission, std::move(done));
}

absl::StatusOr<std::optional<ComparisonAnswer>> Registry::TryCompare(const KernelLaunch& a, const KernelLaunch& b,
                                                                     const CheckOptions& options) {
  const absl::StatusOr<Subject> subject_a = Resolve(a, options);
  if (!subject_a.ok()) return WithMetadata(subject_a.status(), "side", SideName(0));
  const absl::StatusOr<Subject> subject_b = Resolve(b, options);
  if (!subject_b.ok()) return WithMetadata(subject_b.status(), "side", SideName(1));
  std::optional<SignatureAnswer> signature_a = signatures_.TryGet(*subject_a);
  if (!signature_a) return std::nullopt;
  std::optional<SignatureAnswer> signature_b = signatures_.TryGet(*subject_b);
  if (!signature_b) return std::nullopt;
  return Answer(checker(), metrics(), *std::move(signature_a), *std::move(signature_b));
}

CallHandle Registry::Compare(const KernelLaunch& a, const KernelLaunch& b, const CheckOptions& options,
                             Done<ComparisonAnswer> done) {
  std::array<Subject, 2> subjects;
  for (int side = 0; side < 2; ++side) {
    absl::StatusOr<Subject> subject = Resolve(side == 0 ? a : b, options);
    if (!subject.ok()) {
      done(WithMetadata(subject.status(), "side", SideName(side)));
      return nullptr;
    }
    subjects[side] = *std::move(subject);
  }
  auto call = std::make_shared<CompareCall>(checker(), metrics(), std::move(done));
  call->Start(signatures_, subjects);
  return call;
}

CallHandle Registry::Explain(const KernelLaunch& a, const KernelLaunch& b, const CheckOptions& options,
                             Done<ComparisonAnswer> done) {
  auto call = std::make_shared<ExplainCall>(checker(), metrics(), signatures_, CheckLimits(limits()), std::move(done));
  for (int i = 0; i < 2; ++i) {
    ExplainCall::Side& side = call->sides()[i];
    const KernelLaunch& from = i == 0 ? a : b;
    absl::StatusOr<Subject> subject = Resolve(from, options);
    if (subject.ok() && !subject->registered) {
      absl::StatusOr<std::shared_ptr<const std::string>> text = texts_.Hold(subject->text);
      if (text.ok()) side.text = *std::move(text); else subject = text.status();
    }
    if (!subject.ok()) {
      call->Fail(WithMetadata(subject.status(), "side", SideName(i)));
      return nullptr;
    }
    side.launch = from.launch;
    side.float_widths = from.float_widths;
    side.subject = *std::move(subject);
    side.subject.text = {};
    side.subject.launch = &side.launch;
    side.subject.float_widths = &side.float_widths;
  }
  absl::Status status = checks_.Submit([call](bool run) { run ? call->Run() : call->Fail(ShuttingDown()); },
                                       TaskPool::Admission::kQueue);
  if (!status.ok()) call->Fail(status);
  return call;
}

bool Registry::EnterPartition() {
  if (partitions_.fetch_add(1) < limits().max_partition_streams) return true;
  --partitions_;
  return false;
}

Levels Registry::ReadLevels() {
  const TaskPool::Load checks = checks_.load(), store = store_calls_.load();
  Levels levels;
  levels.queued_checks = checks.queued;
  levels.running_checks = checks.running;
  levels.queued_store_calls = store.queued;
  levels.running_store_calls = store.running;
  levels.pending_text_bytes = texts_.held();
  levels.partition_streams = partitions_.load();
  levels.cached_signatures = signatures_.size();
  if (const absl::StatusOr<storage::StoreSizes> sizes = config_.store->Sizes(); sizes.ok()) {
    levels.stored_kernels = sizes->kernels;
    levels.stored_text_bytes = sizes->text_bytes;
    levels.stored_signatures = sizes->signatures;
    levels.store_file_bytes = sizes->file_bytes;
  }
  return levels;
}

}  // namespace samebits::server
