#include "server/registry/partition.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace samebits::server {
namespace {

constexpr size_t kMaxIdBytes = 256;

}  // namespace

PartitionSession::PartitionSession(Registry& registry, CheckOptions options, std::string reference_id,
                                   ItemSink on_item)
    : registry_(registry), options_(options), reference_id_(std::move(reference_id)),
      on_item_(std::make_shared<const ItemSink>(std::move(on_item))) {}

PartitionSession::~PartitionSession() { registry_.LeavePartition(); }

absl::StatusOr<size_t> PartitionSession::AddItem(std::string_view id) {
  if (id.empty() || id.size() > kMaxIdBytes)
    return InvalidField("item.id", absl::StrCat("must have 1 to ", kMaxIdBytes, " bytes, has ", id.size()));
  absl::MutexLock lock(&mutex_);
  if (cancelled_) return Abandoned();
  if (items_.size() >= registry_.limits().max_partition_items)
    return LimitExceeded("max_partition_items", registry_.limits().max_partition_items, items_.size() + 1);
  if (!ids_.insert(std::string(id)).second)
    return InvalidField("item.id", absl::StrCat("'", absl::string_view(id.data(), id.size()), "' was sent before"));
  items_.emplace_back().id = std::string(id);
  return items_.size() - 1;
}

absl::Status PartitionSession::Add(std::string_view id, const absl::StatusOr<KernelLaunch>& launch) {
  const absl::StatusOr<size_t> index = AddItem(id);
  if (!index.ok()) return index.status();
  registry_.metrics().CountPartitionItem();
  if (!launch.ok()) {
    OnAnswer(*index, launch.status());
    return absl::OkStatus();
  }
  CallHandle call = registry_.ComputeSignature(
      *launch, options_, TaskPool::Admission::kReserved,
      [self = shared_from_this(), index = *index](absl::StatusOr<SignatureAnswer> answer) {
        self->OnAnswer(index, std::move(answer));
      });
  bool cancel = false;
  {
    absl::MutexLock lock(&mutex_);
    cancel = cancelled_;
    if (!items_[*index].answer) items_[*index].call = call;
  }
  if (cancel && call != nullptr) call->Cancel();
  return absl::OkStatus();
}

int32_t PartitionSession::ClassOf(const checker::Signature& signature) {
  if (signature.status != checker::SignatureStatus::kOk) return -1;
  return classes_.emplace(signature.digest, static_cast<int32_t>(classes_.size())).first->second;
}

void PartitionSession::OnAnswer(size_t index, absl::StatusOr<SignatureAnswer> answer) {
  PartitionItemAnswer out;
  std::shared_ptr<const ItemSink> on_item;
  CallHandle finished;
  {
    absl::MutexLock lock(&mutex_);
    Item& item = items_[index];
    item.answer = answer;
    if (answer.ok()) item.class_index = ClassOf(*answer->signature);
    finished = std::move(item.call);
    out = {item.id, std::move(answer), item.class_index};
    on_item = on_item_;
  }
  if (on_item != nullptr) (*on_item)(std::move(out));
}

absl::Status PartitionSession::AddVerdicts(PartitionAnswer* out) {
  if (reference_id_.empty()) return absl::OkStatus();
  const Item* reference = nullptr;
  for (const Item& item : items_)
    if (item.id == reference_id_) reference = &item;
  if (reference == nullptr)
    return InvalidField("config.reference_id", absl::StrCat("no item has the id '", reference_id_, "'"));
  if (!reference->answer->ok())
    return WithMetadata(reference->answer->status(), "reference_id", reference_id_);
  for (const Item& item : items_) {
    if (&item == reference || !item.answer->ok()) continue;
    checker::Comparison comparison =
        registry_.checker().CompareSignatures(*(*reference->answer)->signature, *(*item.answer)->signature);
    registry_.metrics().CountVerdict(checker::VerdictName(comparison.verdict));
    out->reference_verdicts.push_back({item.id, comparison.verdict, std::move(comparison.reason)});
  }
  return absl::OkStatus();
}

absl::StatusOr<PartitionAnswer> PartitionSession::Finish() {
  absl::MutexLock lock(&mutex_);
  PartitionAnswer out;
  out.classes.resize(classes_.size());
  for (const auto& [digest, index] : classes_) out.classes[index].digest = digest;
  for (const Item& item : items_) {
    if (!item.answer.has_value()) return absl::InternalError("an item is not decided");
    if (!item.answer->ok()) {
      out.errors.push_back(item.id);
    } else if (item.class_index >= 0) {
      out.classes[item.class_index].ids.push_back(item.id);
    } else if ((*item.answer)->signature->status == checker::SignatureStatus::kNondeterministic) {
      out.nondeterministic.push_back(item.id);
    } else {
      out.unknown.push_back(item.id);
    }
  }
  if (absl::Status status = AddVerdicts(&out); !status.ok()) return status;
  return out;
}

void PartitionSession::Cancel() {
  std::vector<CallHandle> calls;
  {
    absl::MutexLock lock(&mutex_);
    cancelled_ = true;
    on_item_ = nullptr;
    for (Item& item : items_)
      if (item.call != nullptr) calls.push_back(item.call);
  }
  // Those that wait for a thread first, so that none of them takes the thread of one that was stopped.
  for (auto call = calls.rbegin(); call != calls.rend(); ++call) (*call)->Cancel();
}

}  // namespace samebits::server
