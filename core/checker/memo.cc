#include "core/checker/memo.h"

#include <utility>

#include "core/base/thread_time.h"
#include "core/checker/check.h"
#include "core/isa/fingerprint.h"

namespace samebits::checker {

namespace {

void Add(std::string_view text, WordHasher* h) {
  h->Add(text.size());
  for (const char c : text) h->Add(static_cast<uint8_t>(c));
}

void Add(const Dim3& dim, WordHasher* h) {
  for (const uint32_t extent : dim) h->Add(extent);
}

}  // namespace

Digest128 SignatureMemo::KeyOf(const isa::Module& module, uint32_t entry, const Launch& launch,
                               const Options& options) {
  WordHasher h(401);
  h.Add(isa::Fingerprint(module, entry));
  h.Add((options.ignore_signed_zero ? 1u : 0u) | (options.strict_contraction ? 2u : 0u));
  Add(launch.block, &h);
  h.Add(launch.grid.has_value());
  if (launch.grid) Add(*launch.grid, &h);
  h.Add(launch.shared_bytes);
  h.Add(launch.args.has_value());
  if (launch.args) {
    h.Add(launch.args->size());
    for (const Argument& a : *launch.args) {
      h.Add(static_cast<uint64_t>(a.kind));
      Add(a.buffer, &h);
      h.Add(a.bits);
      Add({reinterpret_cast<const char*>(a.bytes.data()), a.bytes.size()}, &h);
    }
  }
  h.Add(launch.outputs.size());
  for (const std::string& output : launch.outputs) Add(output, &h);
  return h.Finish();
}

std::shared_ptr<const Signature> SignatureMemo::Find(const Digest128& key) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto it = known_.find(key);
  return it == known_.end() ? nullptr : it->second;
}

void SignatureMemo::Keep(const Digest128& key, const Signature& signature) {
  if (signature.status != SignatureStatus::kOk) return;
  auto kept = std::make_shared<Signature>(signature);
  kept->times = {};
  kept->steps = kept->nodes = 0;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (known_.size() >= capacity_) known_.clear();
  known_.emplace(key, std::move(kept));
}

size_t SignatureMemo::size() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return known_.size();
}

absl::StatusOr<Signature> ComputeSignature(std::string_view text, const Launch& launch, const Options& options,
                                           SignatureMemo* memo) {
  const absl::Duration start = ThreadCpuTime();
  auto check = ParseCheck(text, launch, options);
  if (!check.ok()) return check.status();
  const Digest128 key = SignatureMemo::KeyOf(*(*check)->module, (*check)->entry, launch, options);
  if (const auto known = memo->Find(key)) {
    Signature signature = *known;
    signature.times.parse = absl::ToDoubleMicroseconds(ThreadCpuTime() - start);
    return signature;
  }
  Workspace workspace(options.limits, options.ignore_signed_zero);
  if (absl::Status s = RunParsed(launch, options, &workspace, check->get()); !s.ok()) return s;
  memo->Keep(key, (*check)->signature);
  return std::move((*check)->signature);
}

}  // namespace samebits::checker
