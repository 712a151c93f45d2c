#include "client/ci/embedded_ptx.h"

#include <lz4.h>
#include <zstd.h>

#include <cstring>
#include <type_traits>

#include "absl/strings/str_cat.h"

namespace samebits::ci {
namespace {

constexpr std::string_view kMagic("\x50\xed\x55\xba", 4);
constexpr size_t kContainerHeader = 16, kEntryHeader = 64;
constexpr uint16_t kPtxEntry = 1;
constexpr uint64_t kLz4 = 0x2000, kZstd = 0x8000, kOtherCompression = 0x1000 | 0x4000 | 0x10000;

template <typename T>
T Read(std::string_view bytes, size_t at) {
  static_assert(std::is_unsigned_v<T>);
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) value |= static_cast<T>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  return value;
}

absl::Status Damaged(size_t at, const char* what) {
  return absl::InvalidArgumentError(absl::StrCat("damaged fat binary at byte ", at, ": ", what));
}

// The text is padded with zeros in front of the next entry, and with line breaks by nvcc.
std::string WithoutPadding(std::string text) {
  text.resize(std::min(text.find_last_not_of('\0') + 1, text.size()));
  text.erase(0, std::min(text.find_first_not_of('\n'), text.size()));
  return text;
}

absl::StatusOr<std::string> Expand(std::string_view packed, uint64_t flags, uint64_t size, size_t at) {
  if (size > kMaxEmbeddedTextBytes) {
    return absl::ResourceExhaustedError(absl::StrCat("a text of ", size, " bytes; at most ", kMaxEmbeddedTextBytes));
  }
  std::string text(size, '\0');
  if (flags & kLz4) {
    const int got = LZ4_decompress_safe(packed.data(), text.data(), static_cast<int>(packed.size()), static_cast<int>(size));
    if (got < 0 || static_cast<uint64_t>(got) != size) return Damaged(at, "LZ4 data");
  } else {
    const size_t got = ZSTD_decompress(text.data(), text.size(), packed.data(), packed.size());
    if (ZSTD_isError(got) || got != size) return Damaged(at, "Zstandard data");
  }
  return text;
}

// One entry's content; `bytes` holds the whole entry.
absl::StatusOr<EmbeddedPtx> ReadText(std::string_view bytes, size_t header, size_t at) {
  const uint64_t flags = Read<uint64_t>(bytes, 40);
  std::string_view content = bytes.substr(header);
  EmbeddedPtx out;
  out.architecture = Read<uint32_t>(bytes, 28);
  if (flags & (kLz4 | kZstd)) {
    const uint32_t packed = Read<uint32_t>(bytes, 16);
    if (packed > content.size()) return Damaged(at, "compressed size");
    absl::StatusOr<std::string> text = Expand(content.substr(0, packed), flags, Read<uint64_t>(bytes, 56), at);
    if (!text.ok()) return text.status();
    out.text = WithoutPadding(*std::move(text));
  } else if (flags & kOtherCompression) {
    return absl::UnimplementedError("PTX compressed by a method that this program does not know; extract it with "
                                    "'cuobjdump -xptx all FILE'");
  } else {
    if (content.size() > kMaxEmbeddedTextBytes) return absl::ResourceExhaustedError("a text over 16 MiB");
    out.text = WithoutPadding(std::string(content));
  }
  return out;
}

struct Found {
  std::vector<EmbeddedPtx> texts;
  size_t bytes = 0;
  bool any_container = false;
};

// The container at `begin`; its end, or `begin` + 1 where the bytes only look like one.
absl::StatusOr<size_t> ReadContainer(std::string_view bytes, size_t begin, Found* found) {
  if (bytes.size() - begin < kContainerHeader || Read<uint16_t>(bytes, begin + 4) != 1) return begin + 1;
  const size_t header = Read<uint16_t>(bytes, begin + 6);
  const uint64_t size = Read<uint64_t>(bytes, begin + 8);
  if (header < kContainerHeader || header > bytes.size() - begin) return begin + 1;
  if (size > bytes.size() - begin - header) return Damaged(begin, "size beyond the end of the file");
  found->any_container = true;
  const size_t end = begin + header + size;
  for (size_t at = begin + header; at < end;) {
    if (end - at < kEntryHeader) return Damaged(at, "entry beyond the end of its container");
    const size_t entry_header = Read<uint32_t>(bytes, at + 4);
    const uint64_t content = Read<uint64_t>(bytes, at + 8);
    if (entry_header < kEntryHeader || entry_header > end - at || content > end - at - entry_header)
      return Damaged(at, "size of an entry");
    if (Read<uint16_t>(bytes, at) == kPtxEntry) {
      absl::StatusOr<EmbeddedPtx> text = ReadText(bytes.substr(at, entry_header + content), entry_header, at);
      if (!text.ok()) return text.status();
      found->bytes += text->text.size();
      if (found->texts.size() == kMaxEmbeddedTexts || found->bytes > kMaxEmbeddedBytes)
        return absl::ResourceExhaustedError("more embedded PTX than this program reads from one file");
      found->texts.push_back(*std::move(text));
    }
    at += entry_header + content;
  }
  return end;
}

}  // namespace

absl::StatusOr<std::vector<EmbeddedPtx>> ExtractPtx(std::string_view bytes) {
  Found found;
  for (size_t at = bytes.find(kMagic); at != std::string_view::npos; at = bytes.find(kMagic, at)) {
    absl::StatusOr<size_t> end = ReadContainer(bytes, at, &found);
    if (!end.ok()) return end.status();
    at = *end;
  }
  if (!found.texts.empty()) return std::move(found.texts);
  return absl::NotFoundError(found.any_container
                                 ? "holds machine code but no PTX; compile with PTX (-gencode arch=compute_90,code=compute_90)"
                                 : "holds no PTX: neither text nor a fat binary with some");
}

}  // namespace samebits::ci
