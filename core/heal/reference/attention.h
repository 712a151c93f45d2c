#ifndef SAMEBITS_CORE_HEAL_REFERENCE_ATTENTION_H_
#define SAMEBITS_CORE_HEAL_REFERENCE_ATTENTION_H_

#include <cstdint>
#include <span>
#include <vector>

#include "core/heal/model/model_shape.h"
#include "core/heal/numerics/configuration.h"

namespace samebits::heal {

// Heads of a row as attention holds them: values (INT16: the integers), and what each head's count (1, but for INT16).
struct HeldHeads {
  std::vector<float> values;
  std::vector<float> scales;
};

// Rounds a row of heads of `width` values to the attention's type and appends it.
void Append(AttentionMode mode, std::span<const float> row, int width, HeldHeads* held);

// What row number `row` stands for, in FP32.
void Widen(const HeldHeads& held, int64_t row, int width, std::span<float> values);

// Keys and values of one layer and slot, positions 0, 1, ...; only grows or is cut.
struct KvRows {
  HeldHeads key, value;
  void Cut(const ModelShape& shape, int64_t positions);
};

// One head of one query over positions 0 .. last: head_dim outputs. `row` is the query's number in `query`.
void Attend(const ModelShape& shape, AttentionMode mode, const HeldHeads& query, int64_t row, int head,
            const KvRows& kv, int64_t last, std::span<float> output);

}  // namespace samebits::heal

#endif  // SAMEBITS_CORE_HEAL_REFERENCE_ATTENTION_H_
