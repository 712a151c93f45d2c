#include <array>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "core/heal/instruction_mix/disassembly.h"

namespace samebits::heal {
namespace {

// `nvdisasm -json` as lines of the text form, so that one reader counts both: keys arrive one by one, nothing is kept.
class JsonLines : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit JsonLines(DisassemblyReader& reader) : reader_(reader) {}

  bool key(std::string& name) override {
    key_ = name.substr(0, 64);
    if (key_ == "SM") in_version_ = true;
    if (key_ == "SchemaVersion") in_version_ = false;
    return true;
  }
  bool string(std::string& text) override {
    if (key_ == "opcode") opcode_ = text.substr(0, 96);
    if (key_ == "operands") operands_ = text.substr(0, 1024);
    return key_ != "function-name" || Feed(absl::StrCat(".text.", OneLine(text), ":\n"));
  }
  bool number_unsigned(uint64_t value) override {
    if (!in_version_ || value > 99) return true;
    if (key_ == "major") major_ = value;
    if (key_ == "minor" && major_ != 0 && target_.empty()) {
      target_ = absl::StrCat("sm_", major_ * 10 + value);
      return Feed(absl::StrCat(".target ", target_, "\n"));
    }
    return true;
  }
  bool end_object() override {
    if (opcode_.empty()) return true;
    const std::string line = absl::StrCat("/*0*/ ", OneLine(opcode_), " ", OneLine(operands_), " ;\n");
    opcode_.clear();
    operands_.clear();
    return Feed(line);
  }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(int64_t) override { return true; }
  bool number_float(double, const std::string&) override { return true; }
  bool binary(nlohmann::json::binary_t&) override { return true; }
  bool start_object(size_t) override { return true; }
  bool start_array(size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception& error) override {
    status_ = absl::InvalidArgumentError(absl::StrCat("JSON at byte ", position, ": ", error.what()));
    return false;
  }
  const absl::Status& status() const { return status_; }

 private:
  static std::string OneLine(std::string text) {
    for (char& c : text)
      if (c == '\n' || c == '\r') c = ' ';
    return text;
  }
  bool Feed(const std::string& line) {
    status_ = reader_.Feed(line);
    return status_.ok();
  }

  DisassemblyReader& reader_;
  absl::Status status_;
  std::string key_, opcode_, operands_, target_;
  bool in_version_ = false;
  uint64_t major_ = 0;
};

absl::Status FeedAll(std::istream& text, DisassemblyReader* reader) {
  std::array<char, 1 << 16> buffer;
  while (text) {
    text.read(buffer.data(), buffer.size());
    const absl::Status status = reader->Feed({buffer.data(), static_cast<size_t>(text.gcount())});
    if (!status.ok()) return status;
  }
  return text.bad() ? absl::DataLossError("read error") : absl::OkStatus();
}

absl::Status FeedJson(std::istream& text, DisassemblyReader* reader) {
  JsonLines lines(*reader);
  const bool parsed = nlohmann::json::sax_parse(text, &lines, nlohmann::json::input_format_t::json);
  if (!lines.status().ok()) return lines.status();
  return parsed ? absl::OkStatus() : absl::InvalidArgumentError("no JSON");
}

}  // namespace

absl::StatusOr<DisassemblyMixes> ReadDisassembly(std::istream& text, const std::string& module, const MixFilter& filter) {
  DisassemblyReader reader(module, "", filter);
  text >> std::ws;
  const int first = text.peek();
  const absl::Status status = first == '[' || first == '{' ? FeedJson(text, &reader) : FeedAll(text, &reader);
  if (!status.ok()) return absl::Status(status.code(), absl::StrCat(module, ": ", status.message()));
  absl::StatusOr<std::vector<KernelMix>> kernels = reader.Finish();
  if (!kernels.ok()) return kernels.status();
  if (reader.kernels_seen() == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        module, ": no instruction of a GPU in it. Expected a cubin, a fatbin, a library or program with device code, an AMD ",
        "code object, or what cuobjdump -sass, nvdisasm or llvm-objdump -d print"));
  }
  return DisassemblyMixes{*std::move(kernels), reader.kernels_seen()};
}

}  // namespace samebits::heal
