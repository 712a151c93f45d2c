#include "core/heal/model/gguf_file.h"

#include <bit>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

namespace samebits::heal {
namespace {

static_assert(std::endian::native == std::endian::little, "files are read in place");

constexpr uint64_t kMostEntries = 1 << 20, kMostNameBytes = 1 << 12;
constexpr uint32_t kMostDimensions = 4;

// Value types of metadata, by number.
enum Type : uint32_t { kU8, kI8, kU16, kI16, kU32, kI32, kF32, kBool, kString, kArray, kU64, kI64, kF64, kTypes };
constexpr int kSizes[kTypes] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

// Every read is checked; after one that fails all others fail, and `at` is where.
class Cursor {
 public:
  explicit Cursor(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  template <typename T>
  T Read() {
    T value = {};
    if (const uint8_t* from = Take(sizeof(T))) std::memcpy(&value, from, sizeof(T));
    return value;
  }

  std::string ReadString(uint64_t most) {
    const uint64_t size = Read<uint64_t>();
    if (size > most) return Stop(), "";
    const uint8_t* from = Take(size);
    return from == nullptr ? "" : std::string(reinterpret_cast<const char*>(from), size);
  }

  // Strings may be as long as the file.
  void SkipString() { Take(Read<uint64_t>()); }

  const uint8_t* Take(uint64_t size) {
    if (!ok_ || size > bytes_.size() - at_) return Stop(), nullptr;
    const uint8_t* from = bytes_.data() + at_;
    at_ += size;
    return from;
  }

  void Stop() { ok_ = false; }
  bool ok() const { return ok_; }
  size_t at() const { return at_; }

 private:
  const std::span<const uint8_t> bytes_;
  size_t at_ = 0;
  bool ok_ = true;
};

GgufValue ReadScalar(Cursor& cursor, uint32_t type) {
  switch (type) {
    case kU8:
      return int64_t{cursor.Read<uint8_t>()};
    case kI8:
      return int64_t{cursor.Read<int8_t>()};
    case kU16:
      return int64_t{cursor.Read<uint16_t>()};
    case kI16:
      return int64_t{cursor.Read<int16_t>()};
    case kU32:
      return int64_t{cursor.Read<uint32_t>()};
    case kI32:
      return int64_t{cursor.Read<int32_t>()};
    case kF32:
      return double{cursor.Read<float>()};
    case kBool:
      return int64_t{cursor.Read<uint8_t>() != 0};
    case kString:
      return cursor.ReadString(1 << 26);
    case kU64:
    case kI64:
      return cursor.Read<int64_t>();
    case kF64:
      return cursor.Read<double>();
    default:
      return cursor.Stop(), int64_t{0};
  }
}

GgufValue ReadArray(Cursor& cursor) {
  const uint32_t type = cursor.Read<uint32_t>();
  const uint64_t length = cursor.Read<uint64_t>();
  if (type >= kTypes || type == kArray || length > uint64_t{1} << 40) return cursor.Stop(), GgufArray{};
  if (type != kString) cursor.Take(length * kSizes[type]);
  for (uint64_t i = 0; type == kString && i < length && cursor.ok(); ++i) cursor.SkipString();
  return GgufArray{length};
}

std::optional<ElementType> TypeOf(uint32_t number) {
  switch (number) {
    case 0:
      return ElementType::kF32;
    case 1:
      return ElementType::kF16;
    case 2:
      return ElementType::kQ4_0;
    case 3:
      return ElementType::kQ4_1;
    case 8:
      return ElementType::kQ8_0;
    case 30:
      return ElementType::kBf16;
    default:
      return {};
  }
}

struct Entry {
  std::string name;
  StoredTensor tensor;
  uint64_t offset = 0;
};

Entry ReadEntry(Cursor& cursor) {
  Entry entry;
  entry.name = cursor.ReadString(kMostNameBytes);
  const uint32_t dimensions = cursor.Read<uint32_t>();
  if (dimensions > kMostDimensions) cursor.Stop();
  for (uint32_t i = 0; i < dimensions && cursor.ok(); ++i) {  // innermost first
    entry.tensor.shape.insert(entry.tensor.shape.begin(), cursor.Read<int64_t>());
  }
  const uint32_t type = cursor.Read<uint32_t>();
  entry.tensor.type = TypeOf(type);
  entry.tensor.type_name = absl::StrCat("number ", type);
  entry.offset = cursor.Read<uint64_t>();
  return entry;
}

class Reader {
 public:
  explicit Reader(std::shared_ptr<const MappedFile> file) : file_(std::move(file)), cursor_(file_->bytes()) {}

  absl::StatusOr<GgufFile> Read() {
    if (cursor_.Read<uint32_t>() != 0x46554747) return Bad("not a GGUF file");  // "GGUF"
    const uint32_t version = cursor_.Read<uint32_t>();
    if (cursor_.ok() && version != 2 && version != 3)
      return Bad(absl::StrCat("GGUF version ", version, "; 2 and 3 are read"));
    const uint64_t tensors = cursor_.Read<uint64_t>(), values = cursor_.Read<uint64_t>();
    if (!cursor_.ok()) return Ended("the header");
    if (tensors > kMostEntries || values > kMostEntries) return Bad("announces too many tensors or values");
    absl::Status status = ReadMetadata(values);
    if (status.ok()) status = ReadEntries(tensors);
    if (status.ok()) status = PlaceTensors();
    if (!status.ok()) return status;
    return std::move(result_);
  }

 private:
  absl::Status Bad(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat(file_->path(), ": ", what));
  }
  absl::Status Ended(absl::string_view where) const {
    return Bad(absl::StrCat("truncated or damaged at byte ", cursor_.at(), ", in ", where));
  }

  absl::Status ReadMetadata(uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
      std::string key = cursor_.ReadString(kMostNameBytes);
      const uint32_t type = cursor_.Read<uint32_t>();
      GgufValue value = type == kArray ? ReadArray(cursor_) : ReadScalar(cursor_, type);
      if (!cursor_.ok()) return Ended(absl::StrCat("metadata '", key, "'"));
      result_.metadata.insert_or_assign(std::move(key), std::move(value));
    }
    return absl::OkStatus();
  }

  absl::Status ReadEntries(uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
      entries_.push_back(ReadEntry(cursor_));
      if (!cursor_.ok()) return Ended(absl::StrCat("the description of tensor '", entries_.back().name, "'"));
    }
    return absl::OkStatus();
  }

  absl::Status PlaceTensors() {
    uint64_t alignment = 32;
    if (const auto at = result_.metadata.find("general.alignment"); at != result_.metadata.end()) {
      const int64_t* stated = std::get_if<int64_t>(&at->second);
      if (stated == nullptr || *stated < 1 || *stated > 1 << 20) return Bad("general.alignment is out of range");
      alignment = static_cast<uint64_t>(*stated);
    }
    const uint64_t begin = (cursor_.at() + alignment - 1) / alignment * alignment;
    for (Entry& entry : entries_) {
      const absl::Status status = Place(begin, &entry);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status Place(uint64_t begin, Entry* entry) {
    StoredTensor& tensor = entry->tensor;
    tensor.file = file_;
    const std::optional<int64_t> elements = ElementsOf(tensor.shape);
    if (!elements) return Bad(absl::StrCat("tensor '", entry->name, "': sizes are out of range"));
    const int64_t columns = tensor.shape.empty() ? 1 : tensor.shape.back();
    if (tensor.type && columns > 0) {
      const std::optional<int64_t> row = RowBytes(*tensor.type, columns);
      if (!row) return Bad(absl::StrCat("tensor '", entry->name, "': rows of ", columns, " do not fill whole blocks"));
      const uint64_t size = static_cast<uint64_t>(*row) * static_cast<uint64_t>(*elements / columns);
      const std::span<const uint8_t> bytes = file_->bytes();
      if (begin > bytes.size() || entry->offset > bytes.size() - begin || size > bytes.size() - begin - entry->offset) {
        return Bad(absl::StrCat("tensor '", entry->name, "': its ", size, " bytes at offset ", entry->offset,
                                " of the data lie beyond the file: it is truncated or damaged"));
      }
      tensor.bytes = bytes.subspan(begin + entry->offset, size);
    }
    if (!result_.tensors.emplace(entry->name, std::move(tensor)).second) {
      return Bad(absl::StrCat("tensor '", entry->name, "' is there twice"));
    }
    return absl::OkStatus();
  }

  const std::shared_ptr<const MappedFile> file_;
  Cursor cursor_;
  std::vector<Entry> entries_;
  GgufFile result_;
};

}  // namespace

absl::StatusOr<GgufFile> ReadGgufFile(const std::string& path) {
  absl::StatusOr<std::shared_ptr<const MappedFile>> file = MappedFile::Open(path);
  if (!file.ok()) return file.status();
  return Reader(*std::move(file)).Read();
}

}  // namespace samebits::heal
