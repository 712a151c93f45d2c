#include "tests/differential/kernel.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "core/checker/check.h"
#include "core/checker/map.h"
#include "core/expr/evaluator.h"

namespace samebits::differential {

using checker::Element;
using expr::Evaluated;

namespace {

constexpr uint64_t kMaxElements = 1u << 24, kMaxValues = 3u << 20;

class DrawMemory : public expr::Memory {
 public:
  DrawMemory(const expr::NodeManager& nodes, const Contents& contents) {
    for (int b = 0; b < nodes.buffer_count(); ++b) {
      const auto it = contents.find(nodes.buffer_name(static_cast<expr::BufferId>(b)));
      buffers_.push_back(it == contents.end() ? nullptr : &it->second);
    }
  }
  bool Read(expr::BufferId buffer, int64_t offset, int bytes, uint8_t* out) const override {
    const std::vector<uint8_t>* b = buffer < buffers_.size() ? buffers_[buffer] : nullptr;
    if (b == nullptr || offset < 0 || offset > static_cast<int64_t>(b->size()) - bytes) return false;
    std::memcpy(out, b->data() + offset, static_cast<size_t>(bytes));
    return true;
  }

 private:
  std::vector<const std::vector<uint8_t>*> buffers_;
};

class Writer {
 public:
  Writer(checker::Workspace* workspace, checker::Check* check, const std::vector<Contents>& draws, OracleTable* oracle,
         KernelResult* result)
      : nodes_(workspace->nodes),
        maps_(&workspace->builder, check->space.get(), true),
        result_(*result),
        values_(draws.size()),
        guards_(draws.size()) {
    for (const Contents& contents : draws) memories_.emplace_back(nodes_, contents);
    std::vector<const expr::Memory*> memories;
    for (const DrawMemory& m : memories_) memories.push_back(&m);
    expr::EvaluatorOptions options;
    options.max_values = kMaxValues;
    if (oracle != nullptr) options.oracle = [oracle](expr::Fn fn, uint64_t attr, std::span<const uint128> operands) {
      return oracle->Answer(fn, attr, operands);
    };
    evaluator_ = std::make_unique<expr::Evaluator>(&nodes_, std::move(memories), std::move(options));
  }

  absl::Status Write(const std::string& name, const Element& e) {
    if (e.store->atomic) return absl::UnimplementedError("atomic operations are not evaluated");
    expr::Scalar value = maps_.ElementValue(e);
    for (Evaluated& g : guards_) g = {1};
    if (e.store->guarded) {
      if (absl::Status s = evaluator_->Evaluate(nodes_.ChildScalar(value, 1), 1, guards_); !s.ok()) return s;
      value = nodes_.ChildScalar(value, 0);
    }
    if (absl::Status s = evaluator_->Evaluate(value, static_cast<int>(e.bytes) * 8, values_); !s.ok()) return s;
    for (size_t d = 0; d < values_.size(); ++d) {
      const Evaluated &v = values_[d], &guard = guards_[d];
      const bool skipped = !guard.undefined && !guard.unanswered && (guard.bits & 1) == 0;
      if (skipped) continue;
      result_.undefined[d] += v.undefined || guard.undefined;
      result_.inexact += v.inexact || guard.inexact;
      result_.unanswered[d] += v.unanswered || guard.unanswered;
      const auto buffer = result_.after[d].find(name);
      if (buffer == result_.after[d].end() || e.address < 0 ||
          e.address + static_cast<int64_t>(e.bytes) > static_cast<int64_t>(buffer->second.size()))
        return absl::OutOfRangeError(absl::StrCat("write of ", e.bytes, " bytes at ", e.address, " of '", name, "'"));
      for (uint32_t i = 0; i < e.bytes; ++i)
        buffer->second[static_cast<size_t>(e.address) + i] = static_cast<uint8_t>(v.bits >> (8 * i));
    }
    return absl::OkStatus();
  }

 private:
  const expr::NodeManager& nodes_;
  checker::MapBuilder maps_;
  KernelResult& result_;
  std::vector<DrawMemory> memories_;
  std::unique_ptr<expr::Evaluator> evaluator_;
  std::vector<Evaluated> values_, guards_;  // one a draw
};

}  // namespace

absl::StatusOr<KernelResult> EvaluateKernel(const std::string& text, const checker::Launch& launch,
                                            const std::vector<Contents>& draws, OracleTable* oracle, double seconds) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  const checker::Options options;
  checker::Workspace workspace(options.limits, options.ignore_signed_zero);
  auto check = checker::RunCheck(text, launch, options, &workspace);
  if (!check.ok()) return check.status();
  KernelResult result;
  result.signature = (*check)->signature;
  if (result.signature.status != checker::SignatureStatus::kOk) return result;
  result.after = draws;
  result.unanswered.assign(draws.size(), 0);
  result.undefined.assign(draws.size(), 0);
  Writer writer(&workspace, check->get(), draws, oracle, &result);
  for (int b = 0; b < workspace.nodes.buffer_count(); ++b) {
    const auto buffer = static_cast<expr::BufferId>(b);
    std::vector<Element> elements;
    if (!checker::MapBuilder::Enumerate((*check)->classes, *(*check)->space, buffer, kMaxElements, &elements))
      return absl::ResourceExhaustedError("more written elements than are evaluated");
    // Block by block, so that what elements share is still remembered; in program order within one.
    std::stable_sort(elements.begin(), elements.end(), [](const Element& x, const Element& y) {
      return std::tie(x.block, x.store->order) < std::tie(y.block, y.store->order);
    });
    result.elements += elements.size();
    for (const Element& e : elements) {
      if (result.evaluated % 64 == 0 && std::chrono::steady_clock::now() > deadline) break;
      if (absl::Status s = writer.Write(workspace.nodes.buffer_name(buffer), e); !s.ok()) return s;
      ++result.evaluated;
    }
  }
  return result;
}

}  // namespace samebits::differential
