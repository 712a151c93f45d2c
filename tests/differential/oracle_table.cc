#include "tests/differential/oracle_table.h"

#include <algorithm>
#include <fstream>

#include "absl/strings/str_cat.h"

namespace samebits::differential {

namespace {

constexpr size_t kMaxWords = 4, kMaxRecords = size_t{1} << 28;

bool LessRecord(const uint64_t* a, const uint64_t* b, size_t words) {
  return std::lexicographical_compare(a, a + words, b, b + words);
}

// Sorts records of `words` words and drops repetitions.
void SortUnique(std::vector<uint64_t>* values, size_t words) {
  std::vector<const uint64_t*> order;
  for (size_t i = 0; i < values->size(); i += words) order.push_back(values->data() + i);
  std::sort(order.begin(), order.end(), [=](const uint64_t* a, const uint64_t* b) { return LessRecord(a, b, words); });
  std::vector<uint64_t> sorted;
  for (size_t i = 0; i < order.size(); ++i)
    if (i == 0 || LessRecord(order[i - 1], order[i], words)) sorted.insert(sorted.end(), order[i], order[i] + words);
  values->swap(sorted);
}

}  // namespace

absl::StatusOr<OracleTable> OracleTable::Read(const std::string& path) {
  OracleTable table;
  if (path.empty()) return table;
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(absl::StrCat(path, ": cannot be read"));
  std::string name;
  size_t words = 0, records = 0;
  while (file >> name >> words >> records) {
    file.get();
    if (words < 2 || words > kMaxWords || records > kMaxRecords)
      return absl::InvalidArgumentError(absl::StrCat(path, ": section '", name, "' has no possible size"));
    Function& f = table.functions_[name];
    f.words = words;
    f.records.resize(words * records);
    if (!file.read(reinterpret_cast<char*>(f.records.data()), static_cast<std::streamsize>(f.records.size() * 8)))
      return absl::InvalidArgumentError(absl::StrCat(path, ": section '", name, "' ends early"));
  }
  return table;
}

std::optional<uint64_t> OracleTable::Answer(expr::Fn fn, uint64_t attr, std::span<const uint128> operands) {
  ++asked_;
  Function*& f = by_attribute_[{static_cast<int>(fn), attr}];
  if (f == nullptr) f = &functions_[absl::StrCat(std::string(expr::FnName(fn)), expr::AttrName(fn, attr))];
  uint64_t question[kMaxWords] = {};
  const size_t n = std::min(operands.size(), kMaxWords);
  for (size_t i = 0; i < n; ++i) question[i] = static_cast<uint64_t>(operands[i]);
  if (f->words == n + 1) {
    size_t low = 0, high = f->records.size() / f->words;
    while (low < high) {
      const size_t middle = (low + high) / 2;
      const uint64_t* record = &f->records[middle * f->words];
      if (std::equal(question, question + n, record)) return record[n];
      if (LessRecord(record, question, n))
        low = middle + 1;
      else
        high = middle;
    }
  }
  f->operands = n;
  f->questions.insert(f->questions.end(), question, question + n);
  return std::nullopt;
}

absl::Status OracleTable::WriteQuestions(const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  for (auto& [name, f] : functions_) {
    if (f.questions.empty()) continue;
    SortUnique(&f.questions, f.operands);
    file << name << " " << f.operands << " " << f.questions.size() / f.operands << "\n";
    file.write(reinterpret_cast<const char*>(f.questions.data()), static_cast<std::streamsize>(f.questions.size() * 8));
  }
  return file.flush() ? absl::OkStatus() : absl::UnavailableError(absl::StrCat(path, ": cannot be written"));
}

}  // namespace samebits::differential
