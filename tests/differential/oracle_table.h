#ifndef SAMEBITS_TESTS_DIFFERENTIAL_ORACLE_TABLE_H_
#define SAMEBITS_TESTS_DIFFERENTIAL_ORACLE_TABLE_H_

// What a device returned for approximate functions, and what is still to be asked of it.
//
// Both are files of sections: a line "<function> <words a record> <records>\n" and that many records of 64-bit
// little-endian words. Functions are spelled as FnName and AttrName do ("ex2.approx.ftz.f32"). A record of a table
// holds the operands' patterns and the result's, of a list of questions the operands' only. Records of a table ascend.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/expr/fn.h"
#include "core/base/hash.h"

namespace samebits::differential {

// Not thread-safe.
class OracleTable {
 public:
  // An empty path is an empty table. INVALID_ARGUMENT where the file does not have the form.
  static absl::StatusOr<OracleTable> Read(const std::string& path);

  // The recorded result; a question without one is kept. An expr::Oracle.
  std::optional<uint64_t> Answer(expr::Fn fn, uint64_t attr, std::span<const uint128> operands);

  // Calls of Answer so far.
  uint64_t asked() const { return asked_; }
  // Writes the questions, each once, ascending.
  absl::Status WriteQuestions(const std::string& path);

 private:
  struct Function {
    size_t words = 0;                  // of a record of the table
    std::vector<uint64_t> records;
    size_t operands = 0;               // of a question
    std::vector<uint64_t> questions;
  };
  std::map<std::string, Function> functions_;
  std::map<std::pair<int, uint64_t>, Function*> by_attribute_;
  uint64_t asked_ = 0;
};

}  // namespace samebits::differential

#endif  // SAMEBITS_TESTS_DIFFERENTIAL_ORACLE_TABLE_H_
