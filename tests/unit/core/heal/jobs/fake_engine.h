#ifndef SAMEBITS_TESTS_UNIT_CORE_HEAL_JOBS_FAKE_ENGINE_H_
#define SAMEBITS_TESTS_UNIT_CORE_HEAL_JOBS_FAKE_ENGINE_H_

// An engine whose errors are planted. A row's values are functions of the tokens of its slot up to it alone, so that
// any mix-up of rows shows; rows that break the contract are refused.

#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/heal/engine/engine.h"
#include "core/heal/jobs/job.h"

namespace samebits::heal::testing {

inline ModelShape FakeShape(int layers = 2) {
  ModelShape shape;
  shape.name = "fake";
  shape.hidden = 32;
  shape.layers = layers;
  shape.heads = 4;
  shape.kv_heads = 2;
  shape.head_dim = 4;
  shape.intermediate = 8;
  shape.vocabulary = 64;
  return shape;
}

inline uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return (x ^ (x >> 31)) + 0x9e3779b97f4a7c15;
}
inline uint64_t After(uint64_t state, int32_t token) { return Mix(state ^ Mix(static_cast<uint64_t>(token) + 1)); }
inline double Unit(uint64_t hash) { return static_cast<double>(hash >> 11) * 0x1p-53; }  // [0, 1)

struct Planted {
  // Error of every final hidden value: alternating sign, so the MSE is its square.
  std::function<double(const Configuration&)> hidden_error = [](const Configuration&) { return 0.0; };
  // Steps whose margin (uniform in [0, 1)) is below this take the second choice. Passes of an odd number of rows add
  // `odd_pass`, as another order of sums would.
  std::function<double(const Configuration&)> flip = [](const Configuration&) { return 0.0; };
  double odd_pass = 0;
  // Value `index` of a tapped row. `state` is the hash of the tokens up to it, `position` its position.
  std::function<float(const Configuration&, TapPoint, int layer, uint64_t state, int position, int index)> tap =
      [](const Configuration&, TapPoint point, int layer, uint64_t state, int, int index) {
        const uint64_t key = Mix(state + static_cast<uint64_t>(point) * 1000 + layer) + static_cast<uint64_t>(index);
        return static_cast<float>(4 * Unit(Mix(key)) - 2);
      };
  std::function<absl::StatusOr<std::vector<float>>(const Configuration&, const OperatorInstance&,
                                                   const OperatorInput&)> apply;
  std::function<absl::StatusOr<DecodeTiming>(const Configuration&, int batch, int context, int call)> decode;
  std::string overflows;  // the configuration whose hidden states are not finite
};

class FakeBackend;

class FakeEngine : public Engine {
 public:
  FakeEngine(FakeBackend& backend, const Configuration& configuration, const Capacity& capacity);
  ~FakeEngine() override;
  const ModelShape& shape() const override;
  const Configuration& configuration() const override { return configuration_; }
  const Capacity& capacity() const override { return capacity_; }
  absl::Status Forward(const Rows& rows, const Wanted& wanted, ForwardResult* result) override;
  absl::StatusOr<std::vector<float>> Apply(const OperatorInstance& instance, const OperatorInput& input) override;
  absl::StatusOr<DecodeTiming> TimeDecode(int batch, int context, int warmup, int steps) override;

 private:
  void Emit(const Rows& rows, const std::vector<uint64_t>& state, const Wanted& wanted, ForwardResult* result);
  FakeBackend& backend_;
  const Configuration configuration_;
  const Capacity capacity_;
  std::map<int, std::vector<uint64_t>> states_;  // of each slot, after each position
};

struct PassLog {
  std::string configuration;
  std::vector<int32_t> slot, position, token;
};

class FakeBackend : public Backend {
 public:
  explicit FakeBackend(const ModelShape& shape) : shape_(shape) {}
  const ModelShape& shape() const override { return shape_; }
  std::string Describe() const override { return "fake"; }
  absl::StatusOr<std::unique_ptr<Engine>> Open(const Configuration& configuration, const Capacity& capacity) override {
    opened.push_back(configuration.name);
    return std::make_unique<FakeEngine>(*this, configuration, capacity);
  }
  absl::StatusOr<double> CopyBandwidth() override {
    if (bandwidth > 0) return bandwidth;
    return absl::UnimplementedError("none");
  }

  Planted planted;
  double bandwidth = 0;
  std::vector<std::string> opened;
  int open = 0, most_open = 0, decodes = 0;
  bool log = false;
  std::vector<PassLog> passes;

 private:
  const ModelShape shape_;
};

inline FakeEngine::FakeEngine(FakeBackend& backend, const Configuration& configuration, const Capacity& capacity)
    : backend_(backend), configuration_(configuration), capacity_(capacity) {
  backend_.most_open = std::max(backend_.most_open, ++backend_.open);
}
inline FakeEngine::~FakeEngine() { --backend_.open; }
inline const ModelShape& FakeEngine::shape() const { return backend_.shape(); }

inline absl::Status FakeEngine::Forward(const Rows& rows, const Wanted& wanted, ForwardResult* result) {
  const size_t n = rows.slot.size();
  if (n == 0 || n > static_cast<size_t>(capacity_.rows) || rows.position.size() != n || rows.token.size() != n) {
    return absl::InvalidArgumentError(absl::StrCat(n, " rows"));
  }
  std::map<int, int> last;
  std::vector<uint64_t> state(n);
  for (size_t i = 0; i < n; ++i) {
    const int slot = rows.slot[i], position = rows.position[i];
    if (slot < 0 || slot >= capacity_.slots || rows.token[i] < 0 || rows.token[i] >= shape().vocabulary) {
      return absl::InvalidArgumentError(absl::StrCat("slot ", slot, " token ", rows.token[i]));
    }
    std::vector<uint64_t>& states = states_[slot];
    const int known = static_cast<int>(states.size());
    const bool follows = last.count(slot) > 0 ? position == last[slot] + 1 : position <= known;
    if (position < 0 || position >= capacity_.context || !follows) {
      return absl::InvalidArgumentError(absl::StrCat("position ", position, " of slot ", slot));
    }
    states.resize(position);
    states.push_back(After(position == 0 ? 17 : states.back(), rows.token[i]));
    last[slot] = position;
    state[i] = states.back();
  }
  if (configuration_.name == backend_.planted.overflows) return absl::DataLossError("hidden states overflowed");
  if (backend_.log) {
    backend_.passes.push_back({configuration_.name,
                               {rows.slot.begin(), rows.slot.end()},
                               {rows.position.begin(), rows.position.end()},
                               {rows.token.begin(), rows.token.end()}});
  }
  Emit(rows, state, wanted, result);
  return absl::OkStatus();
}

inline void FakeEngine::Emit(const Rows& rows, const std::vector<uint64_t>& state, const Wanted& wanted,
                             ForwardResult* result) {
  const Planted& planted = backend_.planted;
  *result = {};
  const double error = planted.hidden_error(configuration_);
  const double flip = planted.flip(configuration_) + (state.size() % 2 == 1 ? planted.odd_pass : 0);
  for (const uint64_t s : state) {
    for (int i = 0; wanted.hidden && i < shape().hidden; ++i) {
      const double exact = std::floor(Unit(Mix(s + i)) * 16) - 8;
      result->hidden.push_back(static_cast<float>(exact + (i % 2 == 0 ? error : -error)));
    }
    if (wanted.next_token) {
      const int32_t choice = static_cast<int32_t>(Mix(s) % (shape().vocabulary - 1));
      result->next_token.push_back(Unit(Mix(s + 99)) < flip ? choice + 1 : choice);
    }
  }
  if (!wanted.tap) return;
  for (int layer = 0; layer < shape().layers; ++layer) {
    for (int p = 0; p <= static_cast<int>(TapPoint::kOutput); ++p) {
      const TapPoint point = static_cast<TapPoint>(p);
      std::vector<float> values;
      for (size_t row = 0; row < state.size(); ++row) {
        for (int i = 0; i < WidthOf(shape(), point); ++i) {
          values.push_back(planted.tap(configuration_, point, layer, state[row], rows.position[row], i));
        }
      }
      wanted.tap(point, layer, values);
    }
  }
}

inline absl::StatusOr<std::vector<float>> FakeEngine::Apply(const OperatorInstance& instance,
                                                            const OperatorInput& input) {
  if (!backend_.planted.apply) return absl::UnimplementedError("no operators");
  return backend_.planted.apply(configuration_, instance, input);
}

inline absl::StatusOr<DecodeTiming> FakeEngine::TimeDecode(int batch, int context, int, int) {
  if (!backend_.planted.decode) return absl::UnimplementedError("no timing");
  return backend_.planted.decode(configuration_, batch, context, backend_.decodes++);
}

// Keeps records; stops the job after `stop_after` units if that is not negative, or at question `cancel_at`.
class Keeper : public JobEvents {
 public:
  absl::Status OnUnit(int64_t index, const std::string& record) override {
    records[index] = record;
    return ++units == stop_after ? absl::UnavailableError("killed") : absl::OkStatus();
  }
  void OnProgress(int64_t done, int64_t total, const std::string&) override {
    EXPECT_LE(done, total);
    ++reports;
  }
  bool Cancelled() override { return ++questions == cancel_at; }

  Records records;
  int64_t units = 0, stop_after = -1, questions = 0, cancel_at = -1, reports = 0;
};

// Prompts of different lengths; token t stands for the letter 'A' + t % 4 behind "answer ".
inline PromptSet FakePrompts(int count, bool table) {
  PromptSet set = MakeSyntheticPrompts(FakeShape(), count, 9, 5);
  for (int i = 0; i < count; ++i) set.prompts[i].tokens.resize(1 + (i * 5) % 9);
  for (int t = 0; table && t < FakeShape().vocabulary; ++t) {
    set.token_bytes.push_back(absl::StrCat("answer ", std::string(1, static_cast<char>('A' + t % 4)), ". "));
  }
  return set;
}

}  // namespace samebits::heal::testing

#endif  // SAMEBITS_TESTS_UNIT_CORE_HEAL_JOBS_FAKE_ENGINE_H_
