#include "server/registry/signatures.h"

#include <atomic>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/registry/codec.h"
#include "server/registry/digest.h"

namespace samebits::server {

// One computation and those who wait for it.
struct Signatures::Flight {
  storage::SignatureKey key;
  bool registered = false;
  std::shared_ptr<const std::string> text;  // null where registered
  checker::Launch launch;
  std::vector<uint8_t> float_widths;
  CheckOptions options;
  absl::Time submitted;
  std::atomic<bool> cancelled{false};
  // Guarded by Signatures::mutex_.
  std::map<uint64_t, Done<SignatureAnswer>> waiters;
  uint64_t next_waiter = 0;
};

class Signatures::Waiter : public Call {
 public:
  Waiter(Signatures* owner, std::shared_ptr<Flight> flight, uint64_t id)
      : owner_(owner), flight_(std::move(flight)), id_(id) {}
  void Cancel() override { owner_->Abandon(flight_, id_); }

 private:
  Signatures* const owner_;
  const std::shared_ptr<Flight> flight_;
  const uint64_t id_;
};

Signatures::Signatures(Parts parts, const ServerLimits& limits, uint64_t cache_entries)
    : parts_(std::move(parts)), check_limits_([&limits] {
        checker::Limits check = limits.check;
        check.max_text_bytes = limits.max_text_bytes;
        return check;
      }()),
      cache_(cache_entries) {}

Signatures::~Signatures() = default;

std::optional<SignatureAnswer> Signatures::TryGet(const Subject& subject) {
  std::optional<Entry> entry = cache_.Get(subject.key);
  if (!entry || (subject.registered && !entry->registered)) return std::nullopt;
  parts_.metrics->CountSignature(SignatureSource::kMemory);
  return SignatureAnswer{std::move(entry->signature), true};
}

CallHandle Signatures::Get(const Subject& subject, TaskPool::Admission admission, Done<SignatureAnswer> done) {
  if (std::optional<SignatureAnswer> answer = TryGet(subject)) {
    done(*std::move(answer));
    return nullptr;
  }
  bool created = false;
  uint64_t waiter = 0;
  const std::shared_ptr<Flight> flight = Join(subject, std::move(done), &created, &waiter);
  if (created) {
    if (absl::Status status = Launch(flight, subject, admission); !status.ok()) Finish(flight, status);
  } else {
    parts_.metrics->CountSignature(SignatureSource::kCoalesced);
  }
  return std::make_shared<Waiter>(this, flight, waiter);
}

std::shared_ptr<Signatures::Flight> Signatures::Join(const Subject& subject, Done<SignatureAnswer> done, bool* created,
                                                     uint64_t* waiter) {
  absl::MutexLock lock(&mutex_);
  std::shared_ptr<Flight>& flight = flights_[FlightKey{subject.key, subject.registered}];
  *created = flight == nullptr;
  if (*created) {
    flight = std::make_shared<Flight>();
    flight->key = subject.key;
    flight->registered = subject.registered;
  }
  *waiter = flight->next_waiter++;
  flight->waiters.emplace(*waiter, std::move(done));
  return flight;
}

absl::Status Signatures::Launch(const std::shared_ptr<Flight>& flight, const Subject& subject,
                                TaskPool::Admission admission) {
  flight->launch = *subject.launch;
  flight->float_widths = *subject.float_widths;
  flight->options = subject.options;
  flight->submitted = absl::Now();
  if (!subject.registered) {
    absl::StatusOr<std::shared_ptr<const std::string>> text = parts_.texts->Hold(subject.text);
    if (!text.ok()) return text.status();
    flight->text = *std::move(text);
  }
  return parts_.pool->Submit(
      [this, flight](bool run) {
        if (run) {
          Run(flight);
        } else {
          Finish(flight, ShuttingDown());
        }
      },
      admission);
}

void Signatures::Run(const std::shared_ptr<Flight>& flight) {
  if (flight->cancelled) return;  // nobody waits
  parts_.metrics->ObserveStage(Metrics::Stage::kQueue, absl::Now() - flight->submitted);
  Finish(flight, Obtain(*flight));
}

absl::StatusOr<SignatureAnswer> Signatures::Obtain(Flight& flight) {
  const uint64_t generation = cache_.Generation(flight.key);
  if (flight.registered) {
    absl::StatusOr<std::optional<SignatureAnswer>> stored = FromStoreOrNone(flight, generation);
    if (!stored.ok()) return stored.status();
    if (*stored) return **std::move(stored);
  }
  return Compute(flight, generation);
}

absl::StatusOr<std::optional<SignatureAnswer>> Signatures::FromStoreOrNone(Flight& flight, uint64_t generation) {
  // A text that was checked unregistered has its signature in memory: only its presence is in question.
  if (std::optional<Entry> entry = cache_.Get(flight.key)) {
    const auto kernel = parts_.store->GetKernel(flight.key.kernel);
    if (!kernel.ok()) return FromStore(kernel.status(), KernelName(flight.key.kernel));
    cache_.Put(flight.key, Entry{entry->signature, true}, generation);
    parts_.metrics->CountSignature(SignatureSource::kMemory);
    return SignatureAnswer{std::move(entry->signature), true};
  }
  const auto record = parts_.store->GetSignature(flight.key);
  if (!record.ok()) return FromStore(record.status(), KernelName(flight.key.kernel));
  if (!record->has_value()) return std::nullopt;
  absl::StatusOr<checker::Signature> signature = DecodeSignature((*record)->body);
  if (!signature.ok()) return std::nullopt;  // computed anew, and replaced
  auto shared = std::make_shared<const checker::Signature>(*std::move(signature));
  cache_.Put(flight.key, Entry{shared, true}, generation);
  parts_.metrics->CountSignature(SignatureSource::kStore);
  return SignatureAnswer{std::move(shared), true};
}

absl::StatusOr<SignatureAnswer> Signatures::Compute(Flight& flight, uint64_t generation) {
  std::string loaded;
  if (flight.registered) {
    absl::StatusOr<std::string> text = LoadText(flight.key.kernel);
    if (!text.ok()) return text.status();
    loaded = *std::move(text);
  }
  const std::string& text = flight.registered ? loaded : *flight.text;
  if (absl::Status status = CheckFloatWidths(text, flight.launch, flight.float_widths); !status.ok()) return status;
  checker::Options options;
  options.limits = check_limits_;
  options.ignore_signed_zero = flight.options.ignore_signed_zero;
  options.strict_contraction = flight.options.strict_contraction;
  options.cancelled = &flight.cancelled;
  const absl::Time start = absl::Now();
  absl::StatusOr<checker::Signature> signature = parts_.checker->ComputeSignature(text, flight.launch, options);
  if (flight.cancelled) return Abandoned();
  if (!signature.ok()) return signature.status();
  const absl::Duration wall = absl::Now() - start;
  parts_.metrics->CountSignature(SignatureSource::kComputed);
  parts_.metrics->CountCheck(checker::StatusName(signature->status), signature->reason_code);
  parts_.metrics->ObserveStage(Metrics::Stage::kParse, absl::Microseconds(signature->times.parse));
  parts_.metrics->ObserveStage(Metrics::Stage::kExecute, absl::Microseconds(signature->times.execute));
  parts_.metrics->ObserveStage(Metrics::Stage::kMap, absl::Microseconds(signature->times.map));
  auto shared = std::make_shared<const checker::Signature>(*std::move(signature));
  if (Keepable(*shared, wall)) cache_.Put(flight.key, Entry{shared, flight.registered}, generation);
  return SignatureAnswer{std::move(shared), false};
}

void Signatures::Finish(const std::shared_ptr<Flight>& flight, const absl::StatusOr<SignatureAnswer>& answer) {
  std::map<uint64_t, Done<SignatureAnswer>> waiters;
  {
    absl::MutexLock lock(&mutex_);
    const auto it = flights_.find(FlightKey{flight->key, flight->registered});
    if (it != flights_.end() && it->second == flight) flights_.erase(it);
    waiters.swap(flight->waiters);
  }
  for (auto& [id, done] : waiters) done(answer);
  if (answer.ok() && !answer->cached && flight->registered) Save(flight->key, *answer->signature);
}

void Signatures::Abandon(const std::shared_ptr<Flight>& flight, uint64_t waiter) {
  Done<SignatureAnswer> done;
  {
    absl::MutexLock lock(&mutex_);
    const auto it = flight->waiters.find(waiter);
    if (it == flight->waiters.end()) return;
    done = std::move(it->second);
    flight->waiters.erase(it);
    if (flight->waiters.empty()) {
      flight->cancelled = true;
      const auto slot = flights_.find(FlightKey{flight->key, flight->registered});
      if (slot != flights_.end() && slot->second == flight) flights_.erase(slot);
    }
  }
  done(Abandoned());
}

bool Signatures::Keepable(const checker::Signature& signature, absl::Duration wall) const {
  if (signature.status != checker::SignatureStatus::kUnknown) return true;
  return signature.reason_code != "TIME_LIMIT" && signature.reason_code != "CANCELLED" &&
         wall < check_limits_.max_time * 0.5;
}

void Signatures::Save(const storage::SignatureKey& key, const checker::Signature& signature) {
  if (signature.status == checker::SignatureStatus::kUnknown) return;
  const storage::SignatureRecord record{key, signature.digest, EncodeSignature(signature)};
  if (!parts_.store->PutSignatures({record}).ok()) parts_.metrics->CountStoreError();
}

void Signatures::Add(const Subject& subject, const checker::Signature& signature, absl::Duration wall) {
  if (!Keepable(signature, wall)) return;
  const uint64_t generation = cache_.Generation(subject.key);
  cache_.Put(subject.key, Entry{std::make_shared<const checker::Signature>(signature), false}, generation);
  if (subject.registered) Save(subject.key, signature);
}

void Signatures::Forget(const Digest& kernel) { cache_.EraseGroup(kernel); }

absl::StatusOr<std::string> Signatures::LoadText(const Digest& kernel) const {
  absl::StatusOr<std::string> text = parts_.store->GetText(kernel);
  if (!text.ok()) return FromStore(text.status(), KernelName(kernel));
  if (ContentDigest(*text) != kernel)
    return WithDetail(absl::DataLossError(absl::StrCat("the stored text of ", KernelName(kernel), " is damaged")),
                      "STORAGE", {});
  return text;
}

absl::Status Signatures::CheckFloatWidths(std::string_view text, const checker::Launch& launch,
                                          const std::vector<uint8_t>& widths) const {
  if (widths.empty()) return absl::OkStatus();
  const absl::StatusOr<checker::TextInfo> info = parts_.checker->DescribeText(text, check_limits_);
  if (!info.ok()) return info.status();
  for (const checker::EntryInfo& entry : info->entries) {
    if (entry.name != launch.entry && !(launch.entry.empty() && info->entries.size() == 1)) continue;
    for (size_t i = 0; i < widths.size() && i < entry.parameters.size(); ++i) {
      const checker::ParameterInfo& parameter = entry.parameters[i];
      if (widths[i] == 0 || widths[i] == parameter.bytes) continue;
      return WithDetail(absl::InvalidArgumentError(absl::StrCat(
                            "argument ", i, " is a ", widths[i] * 8, "-bit float, but parameter ", parameter.name,
                            " of ", entry.name, " has type ", parameter.type, " of ", parameter.bytes, " bytes")),
                        "INVALID_LAUNCH", {{"argument", absl::StrCat(i)}});
    }
  }
  return absl::OkStatus();
}

}  // namespace samebits::server
