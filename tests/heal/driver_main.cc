// Runs the CPU reference for a test in another language. Commands on standard input, one a line; files hold raw
// little-endian int32 or float32:
//   engine MODEL CONFIGURATION NORM         NORM: rounded or unrounded (the residual that the variance is of)
//   forward TOKENS HIDDEN NEXT              tokens of one sequence; hidden states and next tokens out
//   apply FAMILY LAYER READS X OUT [POSITIONS [KEY VALUE]]
// FAMILY and READS are numbers of OperatorFamily and TapPoint.

#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "core/heal/model/checkpoint.h"
#include "core/heal/reference/reference_backend.h"

namespace samebits::heal {
namespace {

template <typename T>
std::vector<T> Read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  const T* values = reinterpret_cast<const T*>(bytes.data());
  return {values, values + bytes.size() / sizeof(T)};
}

template <typename T>
void Write(const std::string& path, const std::vector<T>& values) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(T)));
}

// A checkpoint whose shape says where the variance is taken from, which no file does.
class WithNorm final : public Checkpoint {
 public:
  WithNorm(std::shared_ptr<const Checkpoint> inner, bool unrounded)
      : inner_(std::move(inner)), shape_(inner_->shape()) {
    shape_.norm_of_unrounded = unrounded;
  }
  const ModelShape& shape() const override { return shape_; }
  std::span<const uint16_t> Tensor(int layer, TensorId id) const override { return inner_->Tensor(layer, id); }

 private:
  const std::shared_ptr<const Checkpoint> inner_;
  ModelShape shape_;
};

class Driver {
 public:
  absl::Status Run(const std::string& line) {
    std::istringstream words(line);
    std::string command;
    words >> command;
    if (command == "engine") return Open(words);
    if (engine_ == nullptr) return absl::FailedPreconditionError("no engine");
    if (command == "forward") return Forward(words);
    if (command == "apply") return Apply(words);
    return absl::InvalidArgumentError("no such command");
  }

 private:
  absl::Status Open(std::istream& words) {
    std::string model, text, norm;
    words >> model >> text >> norm;
    const auto checkpoint = OpenCheckpoint(model);
    if (!checkpoint.ok()) return checkpoint.status();
    const auto backend = OpenReferenceBackend(std::make_shared<WithNorm>(*checkpoint, norm == "unrounded"), 2);
    if (!backend.ok()) return backend.status();
    const auto configuration = ParseConfiguration(text);
    if (!configuration.ok()) return configuration.status();
    auto engine = (*backend)->Open(*configuration, Capacity{.slots = 1, .context = 256, .rows = 64});
    if (!engine.ok()) return engine.status();
    engine_ = *std::move(engine);
    return absl::OkStatus();
  }

  absl::Status Forward(std::istream& words) {
    std::string tokens, hidden, next;
    words >> tokens >> hidden >> next;
    const std::vector<int32_t> token = Read<int32_t>(tokens), slot(token.size());
    std::vector<int32_t> position(token.size());
    std::iota(position.begin(), position.end(), 0);
    ForwardResult result;
    const absl::Status status =
        engine_->Forward({slot, position, token}, {.hidden = true, .next_token = true}, &result);
    if (!status.ok()) return status;
    Write(hidden, result.hidden);
    Write(next, result.next_token);
    return absl::OkStatus();
  }

  absl::Status Apply(std::istream& words) {
    int family = 0, layer = 0, reads = 0;
    std::string x, out, positions, key, value;
    words >> family >> layer >> reads >> x >> out >> positions >> key >> value;
    const std::vector<float> values = Read<float>(x), keys = Read<float>(key), held = Read<float>(value);
    const std::vector<int32_t> position = Read<int32_t>(positions);
    const auto result = engine_->Apply({static_cast<OperatorFamily>(family), layer, static_cast<TapPoint>(reads)},
                                       {values, position, keys, held});
    if (!result.ok()) return result.status();
    Write(out, *result);
    return absl::OkStatus();
  }

  std::unique_ptr<Engine> engine_;
};

}  // namespace
}  // namespace samebits::heal

int main() {
  samebits::heal::Driver driver;
  for (std::string line; std::getline(std::cin, line);) {
    const absl::Status status = driver.Run(line);
    if (status.ok()) continue;
    std::cerr << line << ": " << status << "\n";
    return 1;
  }
}
