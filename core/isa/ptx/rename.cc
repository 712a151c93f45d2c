#include "core/isa/ptx/rename.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "core/isa/ptx/lexer.h"
#include "core/isa/ptx/op_table.h"

namespace samebits::isa::ptx {
namespace {

struct Token {
  enum class Kind : uint8_t { kName, kDirective, kOther } kind;
  std::string_view text;  // names: the name; directives: without the dot; else one character or a literal
};

// Tokens of a text; blanks and comments lie between them.
std::vector<Token> Tokenize(const std::string& text) {
  std::vector<Token> tokens;
  Lexer lexer(text);
  for (lexer.SkipBlanks(); !lexer.AtEnd(); lexer.SkipBlanks()) {
    const char* from = lexer.at();
    std::string_view string;
    if (const std::string_view name = lexer.TakeName(); !name.empty()) {
      tokens.push_back({Token::Kind::kName, name});
    } else if (const std::string_view directive = lexer.TakeDirective(); !directive.empty()) {
      tokens.push_back({Token::Kind::kDirective, directive});
    } else {
      if (Is(*from, kDigitChar)) {
        while (Is(*lexer.at(), kDottedChar)) lexer.Advance();
      } else if (!lexer.TakeString(&string)) {
        lexer.Advance();
      }
      tokens.push_back({Token::Kind::kOther, {from, static_cast<size_t>(lexer.at() - from)}});
    }
  }
  return tokens;
}

class Renamer {
 public:
  Renamer(std::string_view text, uint64_t seed) : text_(text), state_(seed), tokens_(Tokenize(text_)) {}

  std::string Rename() {
    Collect();
    Choose();
    return Rewrite();
  }

 private:
  struct Replacement {
    std::string name;
    uint64_t shift = 0;  // of the numbers of a range
  };

  // splitmix64
  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  bool IsOther(size_t i, std::string_view text) const {
    return i < tokens_.size() && tokens_[i].kind == Token::Kind::kOther && tokens_[i].text == text;
  }

  void Collect() {
    for (size_t i = 0; i < tokens_.size(); ++i) {
      const Token& token = tokens_[i];
      if (token.kind == Token::Kind::kName) {
        used_.insert(token.text);
        if (IsOther(i + 1, ":") && !IsOther(i + 2, ":")) labels_.insert(token.text);
      } else if (token.kind == Token::Kind::kDirective) {
        CollectDeclaration(i);
      }
    }
    for (std::string_view name : kept_) {
      registers_.erase(name);
      ranges_.erase(name);
      labels_.erase(name);
    }
  }

  // The names that follow a declaring directive up to what ends it.
  void CollectDeclaration(size_t i) {
    const std::string_view directive = tokens_[i].text;
    const bool is_register = directive == "reg";
    static const std::set<std::string_view> kDeclaring = {"param", "global", "shared", "const", "local",
                                                          "tex",   "entry",  "func",   "alias"};
    if (!is_register && !kDeclaring.contains(directive)) return;
    // A piece of an opcode (`ld.param`) touches what is before it.
    if (i > 0 && tokens_[i - 1].kind != Token::Kind::kOther &&
        tokens_[i - 1].text.data() + tokens_[i - 1].text.size() == directive.data() - 1) {
      return;
    }
    bool is_vector = false;
    for (size_t k = i + 1; k < tokens_.size(); ++k) {
      const Token& token = tokens_[k];
      if (token.kind == Token::Kind::kDirective) {
        is_vector = is_vector || token.text == "v2" || token.text == "v4";
        continue;
      }
      if (token.kind == Token::Kind::kName) {
        if (!is_register) {
          kept_.insert(token.text);
          continue;
        }
        if (IsOther(k + 1, "<")) {
          ranges_.insert(token.text);
        } else {
          registers_.insert(token.text);
        }
        // `v.x` reads like an opcode, unless it has the percent sign.
        if (is_vector && token.text[0] != '%') kept_.insert(token.text);
      } else if (IsOther(k, ";") || IsOther(k, ")") || IsOther(k, "(") || IsOther(k, "{")) {
        return;
      }
    }
  }

  static bool IsOpcode(std::string_view name) {
    size_t length;
    return FindOp(name, &length) != Op::kUnknown;
  }

  std::string NewName(std::string_view old) {
    for (;;) {
      std::string name = old[0] == '%' ? "%Q" : old[0] == '$' ? "$Q" : "Q";
      for (int i = 0; i < 4; ++i) name += static_cast<char>('a' + Next() % 26);
      name += '_';
      if (!used_.contains(name) && taken_.insert(name).second) return name;
    }
  }

  void Choose() {
    for (const auto* names : {&registers_, &labels_}) {
      for (std::string_view name : *names) {
        if (!IsOpcode(name)) exact_.try_emplace(name, Replacement{NewName(name), 0});
      }
    }
    for (std::string_view name : ranges_) {
      if (!IsOpcode(name)) range_.try_emplace(name, Replacement{NewName(name), Next() % 1000});
    }
  }

  std::string Rewrite() {
    std::string out;
    const char* done = text_.data();
    for (size_t i = 0; i < tokens_.size(); ++i) {
      const Token& token = tokens_[i];
      if (token.kind != Token::Kind::kName) continue;
      out.append(done, token.text.data());
      done = token.text.data() + token.text.size();
      if (IsOther(i + 1, "<") && i + 2 < tokens_.size() && tokens_[i + 2].kind == Token::Kind::kOther &&
          range_.contains(token.text)) {
        const Replacement& replacement = range_[token.text];
        out += replacement.name;
        const std::string_view count = tokens_[i + 2].text;
        out.append(done, count.data());
        out += Shifted(count, replacement.shift);
        done = count.data() + count.size();
      } else {
        out += Replaced(token.text);
      }
    }
    out.append(done, text_.data() + text_.size());
    return out;
  }

  static std::string Shifted(std::string_view digits, uint64_t shift) {
    if (digits.empty() || digits.size() > 18 || digits.find_first_not_of("0123456789") != std::string_view::npos) {
      return std::string(digits);
    }
    return std::to_string(std::stoull(std::string(digits)) + shift);
  }

  std::string Replaced(std::string_view name) const {
    if (const auto found = exact_.find(name); found != exact_.end()) return found->second.name;
    const size_t digits = name.find_last_not_of("0123456789") + 1;
    for (size_t prefix = name.size() - 1; prefix >= digits && prefix > 0; --prefix) {
      const auto found = range_.find(name.substr(0, prefix));
      if (found == range_.end()) continue;
      return found->second.name + Shifted(name.substr(prefix), found->second.shift);
    }
    return std::string(name);
  }

  const std::string text_;
  uint64_t state_;
  const std::vector<Token> tokens_;
  std::set<std::string_view> used_, registers_, ranges_, labels_, kept_;
  std::set<std::string> taken_;
  std::map<std::string_view, Replacement, std::less<>> exact_, range_;
};

}  // namespace

std::string RenameRegistersAndLabels(std::string_view text, uint64_t seed) { return Renamer(text, seed).Rename(); }

}  // namespace samebits::isa::ptx
