#include <cmath>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/heal/model/checkpoint.h"
#include "core/heal/model/gguf.h"
#include "core/heal/model/safetensors.h"
#include "core/heal/model/tensor_names.h"
#include "core/heal/numerics/rounding.h"

namespace samebits::heal {
namespace {

constexpr int kTensorIds = 12;

class LoadedCheckpoint final : public Checkpoint {
 public:
  explicit LoadedCheckpoint(ModelShape shape)
      : shape_(std::move(shape)), tensors_(static_cast<size_t>(shape_.layers) * kTensorIds) {}

  const ModelShape& shape() const override { return shape_; }
  std::span<const uint16_t> Tensor(int layer, TensorId id) const override { return tensors_[Index(layer, id)]; }
  std::vector<uint16_t>& Values(int layer, TensorId id) { return tensors_[Index(layer, id)]; }

 private:
  size_t Index(int layer, TensorId id) const {
    if (id == TensorId::kHead && shape_.tied) id = TensorId::kEmbedding;
    return static_cast<size_t>(IsOfLayer(id) ? layer : 0) * kTensorIds + static_cast<size_t>(id);
  }
  const ModelShape shape_;
  std::vector<std::vector<uint16_t>> tensors_;
};

// Where NeoX's row `row` of a head's is in the interleaved layout, which pairs rows 2i and 2i + 1 instead of i and
// i + width / 2.
int64_t InterleavedRow(int64_t row, int64_t width) {
  const int64_t within = row % width, half = width / 2;
  return row - within + (within < half ? 2 * within : 2 * (within - half) + 1);
}

std::string ShapeText(const std::vector<int64_t>& shape) {
  std::string text;
  for (const int64_t size : shape) absl::StrAppend(&text, text.empty() ? "" : " x ", size);
  return text.empty() ? "scalar" : text;
}

class Loader {
 public:
  Loader(std::string origin, ModelShape shape, Naming naming, bool interleaved, StoredTensors tensors)
      : origin_(std::move(origin)),
        naming_(naming),
        interleaved_(interleaved),
        tensors_(std::move(tensors)),
        result_(std::make_shared<LoadedCheckpoint>(std::move(shape))) {}

  absl::StatusOr<std::shared_ptr<const Checkpoint>> Load() {
    const ModelShape& shape = result_->shape();
    for (int layer = 0; layer < shape.layers; ++layer) {
      for (int number = 0; number < kTensorIds; ++number) {
        const TensorId id = static_cast<TensorId>(number);
        if (!Has(shape, id) || (!IsOfLayer(id) && layer > 0) || (id == TensorId::kHead && shape.tied)) continue;
        const absl::Status status = LoadTensor(layer, id);
        if (!status.ok()) return status;
      }
    }
    return CheckAllUsed();
  }

 private:
  absl::Status LoadTensor(int layer, TensorId id) {
    const ModelShape& shape = result_->shape();
    const int64_t columns = ColumnsOf(shape, id);
    std::vector<uint16_t>& values = result_->Values(layer, id);
    const std::vector<TensorPart> parts = PartsOf(shape, naming_, layer, id);
    for (const TensorPart& part : parts) {  // before anything of the stated size is allocated
      if (const absl::Status status = CheckPart(part, columns); !status.ok()) return status;
    }
    values.resize(static_cast<size_t>(RowsOf(shape, id) * columns));
    std::span<uint16_t> rest = values;
    for (const TensorPart& part : parts) {
      const size_t count = static_cast<size_t>(part.rows * columns);
      if (const absl::Status status = LoadPart(part, columns, rest.first(count)); !status.ok()) return status;
      rest = rest.subspan(count);
    }
    return absl::OkStatus();
  }

  // A tensor that the forward pass has no place for would change the model's results.
  absl::StatusOr<std::shared_ptr<const Checkpoint>> CheckAllUsed() const {
    for (const auto& [name, stored] : tensors_) {
      const bool head = result_->shape().tied && name == "lm_head.weight";
      if (used_.count(name) != 0 || head || name == "rope_freqs.weight" ||
          absl::EndsWith(name, "rotary_emb.inv_freq")) {
        continue;
      }
      return Bad(stored, name, "has no place in this kind of model");
    }
    return result_;
  }

  absl::Status CheckPart(const TensorPart& part, int64_t columns) const {
    const auto at = tensors_.find(part.name);
    if (at == tensors_.end())
      return absl::InvalidArgumentError(absl::StrCat(origin_, ": tensor '", part.name, "' is missing"));
    const StoredTensor& stored = at->second;
    const std::vector<int64_t> expected = columns == 1 ? std::vector{part.rows} : std::vector{part.rows, columns};
    if (stored.shape != expected) {
      return Bad(stored, part.name,
                 absl::StrCat("has shape ", ShapeText(stored.shape), ", expected ", ShapeText(expected)));
    }
    if (stored.type) return absl::OkStatus();
    return Bad(stored, part.name,
               absl::StrCat("has type ", stored.type_name, "; F32, F16, BF16",
                            naming_ == Naming::kGguf ? ", Q4_0, Q4_1 and Q8_0" : "", " are read"));
  }

  absl::Status LoadPart(const TensorPart& part, int64_t columns, std::span<uint16_t> values) {
    const StoredTensor& stored = tensors_.at(part.name);
    used_.insert(part.name);
    // a vector is one row in the file, and may be one of blocks
    const bool vector = columns == 1;
    const int64_t rows = vector ? 1 : part.rows, width = vector ? part.rows : columns;
    const int64_t bytes = *RowBytes(*stored.type, width);
    const bool permuted = interleaved_ && part.rotated_heads > 0;
    const int64_t head = permuted ? part.rows / part.rotated_heads : 0;
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t from = permuted && !vector ? InterleavedRow(row, head) : row;
      const std::span<uint16_t> to = values.subspan(static_cast<size_t>(row * width), static_cast<size_t>(width));
      ReadRow(*stored.type, stored.bytes.data() + from * bytes, to);
      for (int64_t i = 0; i < width; ++i) {
        if (std::isfinite(FromBf16(to[static_cast<size_t>(i)]))) continue;
        return Bad(stored, part.name, absl::StrCat("value ", from * width + i, " is not a finite number in BF16"));
      }
    }
    if (permuted && vector) PermuteVector(head, values);
    return absl::OkStatus();
  }

  static void PermuteVector(int64_t head, std::span<uint16_t> values) {
    const std::vector<uint16_t> read(values.begin(), values.end());
    for (size_t i = 0; i < read.size(); ++i)
      values[i] = read[static_cast<size_t>(InterleavedRow(static_cast<int64_t>(i), head))];
  }

  static absl::Status Bad(const StoredTensor& stored, const std::string& name, absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat(stored.file->path(), ": tensor '", name, "' ", what));
  }

  const std::string origin_;
  const Naming naming_;
  const bool interleaved_;
  const StoredTensors tensors_;
  std::set<std::string> used_;
  std::shared_ptr<LoadedCheckpoint> result_;
};

absl::StatusOr<std::shared_ptr<const Checkpoint>> LoadFolder(const std::string& folder) {
  const std::string path = absl::StrCat(folder, "/config.json");
  const absl::StatusOr<std::shared_ptr<const MappedFile>> config = MappedFile::Open(path);
  if (!config.ok()) return config.status();
  absl::StatusOr<ModelShape> shape = ParseConfigJson((*config)->text());
  if (!shape.ok()) return absl::Status(shape.status().code(), absl::StrCat(path, ": ", shape.status().message()));
  shape->name = std::filesystem::path(folder + "/.").lexically_normal().parent_path().filename().string();
  absl::StatusOr<StoredTensors> tensors = ReadSafetensorsFolder(folder);
  if (!tensors.ok()) return tensors.status();
  return Loader(folder, *std::move(shape), Naming::kHuggingFace, false, *std::move(tensors)).Load();
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Checkpoint>> LoadCheckpoint(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return LoadFolder(path);
  if (absl::EndsWith(path, ".safetensors") || absl::EndsWith(path, ".json")) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": name the folder that holds it and config.json instead"));
  }
  absl::StatusOr<GgufModel> model = ReadGguf(path);
  if (!model.ok()) return model.status();
  return Loader(path, std::move(model->shape), Naming::kGguf, model->interleaved, std::move(model->tensors)).Load();
}

absl::StatusOr<std::shared_ptr<const Checkpoint>> OpenCheckpoint(const std::string& text) {
  if (!absl::StartsWith(text, "synthetic:")) return LoadCheckpoint(text);
  const std::vector<std::string> parts = absl::StrSplit(text, ':');
  uint64_t seed = 1;
  if (parts.size() > 3 || (parts.size() == 3 && !absl::SimpleAtoi(parts[2], &seed))) {
    return absl::InvalidArgumentError(absl::StrCat("'", text, "': expected synthetic:NAME or synthetic:NAME:SEED"));
  }
  const absl::StatusOr<ModelShape> shape = PublishedShape(parts[1]);
  if (!shape.ok()) return shape.status();
  return MakeSyntheticCheckpoint(*shape, seed);
}

}  // namespace samebits::heal
