#include "core/gemm/block_emulator.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <thread>
#include <tuple>
#include <utility>

namespace samebits::gemm {
namespace {

constexpr int64_t kProducts = 200'000'000;            // of a block
constexpr int64_t kMostOutputs = int64_t{1} << 17;    // of a block, where the number of blocks allows it

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

OutputBlocks BlocksOf(int64_t outputs, int64_t n, int64_t k) {
  int64_t block = std::clamp<int64_t>(kProducts / std::max<int64_t>(k, 1), 1, kMostOutputs);
  block = std::max(block, CeilDiv(outputs, kMostBlocks));
  if (block >= n) block = CeilDiv(block, n) * n;
  return {outputs, block};
}

int ThreadsFor(int threads, int64_t k) {
  constexpr int64_t kElements = int64_t{1} << 23;  // of rows under way; a gigabyte where products are matrix products
  const int wanted = threads > 0 ? threads : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return static_cast<int>(std::clamp<int64_t>(kElements / std::max<int64_t>(k, 1), 1, wanted));
}

absl::Status BlockEmulator::Fetch(const OperandRows& from, FormatId type, std::vector<int64_t> index, Rows* rows) {
  if (rows->operand && rows->index == index) return absl::OkStatus();
  rows->operand.reset();
  absl::StatusOr<std::vector<uint64_t>> patterns = from(index);
  if (!patterns.ok()) return patterns.status();
  if (static_cast<int64_t>(patterns->size()) != std::ssize(index) * product_.plan.k)
    return absl::InternalError("an operand has rows of another length");
  const bool scalar = !product_.plan.arithmetic.unit.has_value();
  rows->operand.emplace(type, std::ssize(index), product_.plan.k, *std::move(patterns), scalar);
  rows->index = std::move(index);
  return absl::OkStatus();
}

absl::Status BlockEmulator::RunPart(std::span<const Output> outputs, std::span<const size_t> part, std::vector<uint64_t>* sums) {
  std::set<int64_t> rows, columns;
  for (const size_t i : part) {
    rows.insert(outputs[i].row);
    columns.insert(outputs[i].column);
  }
  if (absl::Status s = Fetch(product_.a, product_.desc.a_type, {rows.begin(), rows.end()}, &a_); !s.ok()) return s;
  if (absl::Status s = Fetch(product_.b, product_.desc.b_type, {columns.begin(), columns.end()}, &b_); !s.ok()) return s;
  const auto place = [](const std::vector<int64_t>& index, int64_t row) {
    return std::lower_bound(index.begin(), index.end(), row) - index.begin();
  };
  std::vector<Output> places;
  places.reserve(part.size());
  for (const size_t i : part) places.push_back({place(a_.index, outputs[i].row), place(b_.index, outputs[i].column)});
  const std::vector<uint64_t> own = Accumulate(product_.plan, *a_.operand, *b_.operand, places, ThreadsFor(threads_, product_.plan.k));
  for (size_t i = 0; i < part.size(); ++i) (*sums)[part[i]] = own[i];
  return absl::OkStatus();
}

absl::StatusOr<std::vector<uint8_t>> BlockEmulator::Run(int64_t first, int64_t count) {
  std::vector<Output> outputs;
  outputs.reserve(count);
  for (int64_t i = first; i < first + count; ++i) outputs.push_back(product_.At(i));
  // Tiles of columns, row after row in each, so that rows of B are decoded for many rows of A.
  const int64_t tile = std::max<int64_t>(most_elements_ / std::max<int64_t>(product_.plan.k, 1), 1);
  std::vector<size_t> order(outputs.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t x, size_t y) {
    const Output &a = outputs[x], &b = outputs[y];
    return std::tuple(a.column / tile, a.row, a.column) < std::tuple(b.column / tile, b.row, b.column);
  });
  std::vector<uint64_t> sums(outputs.size());
  for (size_t begin = 0; begin < order.size();) {
    std::set<int64_t> rows;
    size_t end = begin;
    for (const int64_t of = outputs[order[begin]].column / tile; end < order.size() && outputs[order[end]].column / tile == of; ++end) {
      rows.insert(outputs[order[end]].row);
      if (std::ssize(rows) > tile) break;
    }
    if (absl::Status s = RunPart(outputs, std::span(order).subspan(begin, end - begin), &sums); !s.ok()) return s;
    begin = end;
  }
  std::vector<uint64_t> c;
  if (product_.desc.epilogue.beta != BetaStep::kNone) {
    absl::StatusOr<std::vector<uint64_t>> values = product_.c(outputs);
    if (!values.ok()) return values.status();
    c = *std::move(values);
  }
  const auto results = Finish(product_.desc, sums, outputs, {product_.alpha, product_.beta, c, product_.bias});
  if (!results.ok()) return results.status();
  std::vector<uint8_t> bytes(results->size() * BytesOf(product_.desc.output_type));
  for (size_t i = 0; i < results->size(); ++i) StoreElement(bytes, product_.desc.output_type, i, (*results)[i]);
  return bytes;
}

}  // namespace samebits::gemm
