#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/sha256.h"
#include "core/gemm/block_emulator.h"
#include "core/gemm/recovery.h"
#include "proto/convert/gemm.h"
#include "samebits/worker/v1/worker_sessions.pb.h"
#include "workers/gemm_jobs/gemm_work.h"
#include "workers/gemm_jobs/operand_source.h"

namespace samebits::workers {
namespace {

using v1::EmulateGemmOnWorkerRequest;
using v1::EmulateGemmOnWorkerResponse;

std::string BytesOf(const std::array<uint8_t, 32>& digest) { return {reinterpret_cast<const char*>(digest.data()), digest.size()}; }
std::string_view View(const std::vector<uint8_t>& bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// The request as core/gemm takes it, with the operands that the product's functions read.
class Product {
 public:
  explicit Product(const EmulateGemmOnWorkerRequest& request) : r_(request) {}
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;

  absl::Status Prepare() {
    absl::StatusOr<gemm::GemmDesc> desc = proto::GemmDescFromProto(r_.desc());
    if (!desc.ok()) return desc.status();
    product_.desc = *std::move(desc);
    const int64_t summed = r_.summed_k() == 0 ? r_.k() : r_.summed_k();
    if (absl::Status status = gemm::Validate(product_.desc, summed); !status.ok()) return status;
    absl::StatusOr<gemm::Plan> plan = gemm::CompileDefective(product_.desc, r_.k(), summed, r_.architecture());
    if (!plan.ok()) return plan.status();
    product_.plan = *std::move(plan);
    product_.n = r_.n();
    for (const auto& o : r_.outputs()) product_.chosen.push_back({o.row(), o.column()});
    product_.alpha = r_.alpha(), product_.beta = r_.beta();
    return PrepareOperands();
  }
  const gemm::BlockedProduct& get() const { return product_; }
  int64_t outputs() const { return product_.chosen.empty() ? r_.m() * r_.n() : std::ssize(product_.chosen); }

 private:
  absl::Status PrepareOperands() {
    const gemm::GemmDesc& d = product_.desc;
    if (absl::Status s = Open(r_.a(), "a", d.a_type, r_.m() * r_.k()); !s.ok()) return s;
    if (absl::Status s = Open(r_.b(), "b", d.b_type, r_.n() * r_.k()); !s.ok()) return s;
    product_.a = RowsOf(0);
    product_.b = RowsOf(1);
    if (d.epilogue.beta != gemm::BetaStep::kNone) {
      if (absl::Status s = Open(r_.c(), "c", d.output_type, r_.m() * r_.n()); !s.ok()) return s;
      product_.c = [source = sources_.size() - 1, this](std::span<const gemm::Output> outputs) { return ElementsOf(source, outputs); };
    }
    if (d.epilogue.bias == gemm::BiasStep::kNone) return absl::OkStatus();
    if (absl::Status s = Open(r_.bias(), "bias", d.output_type, r_.n()); !s.ok()) return s;
    return sources_.back().Append(0, r_.n(), &product_.bias);
  }

  absl::Status Open(const v1::GemmOperand& operand, const char* name, gemm::FormatId type, int64_t elements) {
    absl::StatusOr<OperandSource> source = OperandSource::Make(operand, name, type, elements);
    if (source.ok()) sources_.push_back(*std::move(source));
    return source.status();
  }

  gemm::OperandRows RowsOf(size_t source) {
    return [this, source](std::span<const int64_t> rows) -> absl::StatusOr<std::vector<uint64_t>> {
      std::vector<uint64_t> patterns;
      patterns.reserve(rows.size() * static_cast<size_t>(r_.k()));
      for (const int64_t row : rows)
        if (absl::Status s = sources_[source].Append(row * r_.k(), r_.k(), &patterns); !s.ok()) return s;
      return patterns;
    };
  }

  absl::StatusOr<std::vector<uint64_t>> ElementsOf(size_t source, std::span<const gemm::Output> outputs) {
    std::vector<uint64_t> patterns;
    for (const gemm::Output& o : outputs)
      if (absl::Status s = sources_[source].Append(o.row * r_.n() + o.column, 1, &patterns); !s.ok()) return s;
    return patterns;
  }

  const EmulateGemmOnWorkerRequest& r_;
  gemm::BlockedProduct product_;
  std::vector<OperandSource> sources_;
};

class Emulating {
 public:
  Emulating(const EmulateGemmOnWorkerRequest& request, int threads, const WorkParts& parts)
      : request_(request), parts_(parts), product_(request), emulator_(&product_.get(), threads) {}

  absl::StatusOr<EmulateGemmOnWorkerResponse> Run() {
    if (absl::Status status = product_.Prepare(); !status.ok()) return status;
    blocks_ = gemm::BlocksOf(product_.outputs(), request_.n(), request_.k());
    int64_t number = 0;
    for (; parts_.done.contains(number) && number < blocks_.count(); ++number)
      if (absl::Status status = Take(number, parts_.done.at(number)); !status.ok()) return status;
    parts_.progress(std::min(blocks_.first(number), blocks_.outputs), blocks_.outputs);
    for (; number < blocks_.count(); ++number)
      if (absl::Status status = Compute(number); !status.ok()) return status;
    response_.set_sha256(BytesOf(all_.Digest()));
    response_.set_outputs(blocks_.outputs);
    return std::move(response_);
  }

 private:
  // Of an earlier attempt; those before it are there, too.
  absl::Status Take(int64_t number, const std::string& body) {
    worker::v1::EmulateGemmUnit unit;
    const int64_t bytes = request_.digests_only() ? 0 : blocks_.size(number) * gemm::BytesOf(product_.get().desc.output_type);
    if (!unit.ParseFromString(body) || static_cast<int64_t>(unit.d().size()) != bytes) return absl::DataLossError("a finished block cannot be read");
    const std::optional<Sha256Stream> state = Sha256Stream::Load(unit.hash_state());
    if (!state) return absl::DataLossError("a finished block cannot be read");
    all_ = *state;
    Add(number, unit);
    return absl::OkStatus();
  }

  absl::Status Compute(int64_t number) {
    const absl::StatusOr<std::vector<uint8_t>> bytes = emulator_.Run(blocks_.first(number), blocks_.size(number));
    if (!bytes.ok()) return bytes.status();
    all_.Update(View(*bytes));
    worker::v1::EmulateGemmUnit unit;
    if (!request_.digests_only()) unit.set_d(bytes->data(), bytes->size());
    unit.set_sha256(BytesOf(Sha256(View(*bytes))));
    unit.set_hash_state(all_.Save());
    Add(number, unit);
    parts_.keep(number, unit.SerializeAsString());
    parts_.progress(blocks_.first(number) + blocks_.size(number), blocks_.outputs);
    return absl::OkStatus();
  }

  void Add(int64_t number, const worker::v1::EmulateGemmUnit& unit) {
    response_.mutable_d()->append(unit.d());
    EmulateGemmOnWorkerResponse::Block* block = response_.add_blocks();
    block->set_first_output(blocks_.first(number));
    block->set_outputs(blocks_.size(number));
    block->set_sha256(unit.sha256());
  }

  const EmulateGemmOnWorkerRequest& request_;
  const WorkParts& parts_;
  Product product_;
  gemm::BlockEmulator emulator_;
  gemm::OutputBlocks blocks_;
  Sha256Stream all_;
  EmulateGemmOnWorkerResponse response_;
};

}  // namespace

absl::StatusOr<EmulateGemmOnWorkerResponse> EmulateGemm(const EmulateGemmOnWorkerRequest& request, int threads, const WorkParts& parts) {
  return Emulating(request, threads, parts).Run();
}

}  // namespace samebits::workers
