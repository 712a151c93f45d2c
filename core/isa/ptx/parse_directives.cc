// Module level, and the directives that may occur anywhere.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/isa/ptx/foreign_text.h"
#include "core/isa/ptx/parser_impl.h"

namespace samebits::isa::ptx {
namespace {

constexpr uint64_t kMaxFileIndex = 65'535;
constexpr uint64_t kMaxVersion = 1'000;

}  // namespace

StateSpace Parser::VariableSpace(std::string_view directive) {
  if (directive == "global") return StateSpace::kGlobal;
  if (directive == "shared") return StateSpace::kShared;
  if (directive == "const") return StateSpace::kConst;
  if (directive == "local") return StateSpace::kLocal;
  if (directive == "tex") return StateSpace::kTex;
  if (directive == "param") return StateSpace::kParam;
  return StateSpace::kNone;
}

bool Parser::ParseModule() {
  if (lexer_.PeekDirective() != "version") {
    const std::string seems(DescribeForeignText(*module_->text));
    return FailHere(absl::StrCat("expected .version, with which PTX begins", seems.empty() ? "" : "; this seems to be ", seems));
  }
  for (;;) {
    const char c = lexer_.Peek();
    if (lexer_.AtEnd()) break;
    if (c == '@' && lexer_.at()[1] == '@') {
      lexer_.SkipLine();
    } else if (!ParseModuleDirective()) {
      return false;
    }
  }
  return has_target_ || FailHere("expected .target");
}

bool Parser::ParseModuleDirective() {
  const char* at = lexer_.at();
  const std::string_view directive = lexer_.TakeDirective();
  if (directive.empty()) return FailHere("expected a directive");
  if (directive == "loc") return ParseLoc();
  if (directive == "file") return ParseFile();
  if (directive == "section") return ParseSection();
  if (directive == "version") return ParseVersion();
  if (directive == "target") return ParseTarget();
  if (directive == "address_size") return ParseAddressSize();
  if (directive == "pragma") return ParsePragma();
  if (directive == "alias") return ParseAlias();
  return ParseDeclaration(at, directive);
}

bool Parser::ParseDeclaration(const char* at, std::string_view directive) {
  if (!has_target_) return Fail(at, "expected .target");
  Linkage linkage;
  for (;;) {
    if (directive == "extern") {
      linkage.is_extern = true;
    } else if (directive == "common") {
      linkage.is_common = true;
    } else if (directive == "weak") {
      linkage.is_weak = true;
    } else if (directive != "visible") {
      break;
    }
    lexer_.SkipBlanks();
    at = lexer_.at();
    directive = lexer_.TakeDirective();
  }
  if (directive == "entry") return ParseFunction(linkage, /*is_entry=*/true);
  if (directive == "func") return ParseFunction(linkage, /*is_entry=*/false);
  const StateSpace space = VariableSpace(directive);
  if (space != StateSpace::kNone && space != StateSpace::kParam) return ParseVariables(linkage, space);
  return Fail(at, directive == "reg" ? "register outside of a function" : "expected a declaration");
}

bool Parser::ParseUnsigned(uint64_t limit, uint64_t* value) {
  lexer_.SkipBlanks();
  const char* at = lexer_.at();
  if (!Is(*at, kDigitChar)) return FailHere("expected a number");
  Value literal;
  if (!ParseLiteral(&literal)) return false;
  if (literal.float_bits != 0) return Fail(at, "expected an integer");
  if (literal.bits > limit) return Fail(at, "number out of range");
  *value = literal.bits;
  return true;
}

// Major and minor number as written: "8.7" is no floating-point number.
bool Parser::ParseVersion() {
  uint64_t parts[2] = {0, 0};
  lexer_.SkipBlanks();
  const char* at = lexer_.at();
  for (int part = 0; part < 2; ++part) {
    if (!Is(*lexer_.at(), kDigitChar)) return Fail(at, "expected a version such as 8.7");
    while (Is(*lexer_.at(), kDigitChar)) {
      parts[part] = parts[part] * 10 + (*lexer_.at() - '0');
      if (parts[part] > kMaxVersion) return Fail(at, "number out of range");
      lexer_.Advance();
    }
    if (part == 0) {
      if (*lexer_.at() != '.') return Fail(at, "expected a version such as 8.7");
      lexer_.Advance();
    }
  }
  module_->version_major = static_cast<int>(parts[0]);
  module_->version_minor = static_cast<int>(parts[1]);
  return true;
}

bool Parser::ParseTarget() {
  has_target_ = true;
  do {
    lexer_.SkipBlanks();
    const char* at = lexer_.at();
    const std::string_view name = lexer_.TakeName();
    if (name.empty()) return FailHere("expected a target");
    if (name.starts_with("sm_")) {
      if (!ParseTargetName(name)) return Fail(at, "malformed target");
    } else if (name == "debug") {
      module_->debug = true;
    } else if (name != "texmode_unified" && name != "texmode_independent" && name != "map_f64_to_f32") {
      return Fail(at, "unknown target option");
    }
  } while (lexer_.TakeIf(','));
  return true;
}

// sm_90, sm_90a, sm_100f.
bool Parser::ParseTargetName(std::string_view name) {
  std::string_view number = name.substr(3);
  char suffix = 0;
  if (number.ends_with('a') || number.ends_with('f')) {
    suffix = number.back();
    number.remove_suffix(1);
  }
  if (number.empty() || number.size() > 4) return false;
  int sm = 0;
  for (char c : number) {
    if (!Is(c, kDigitChar)) return false;
    sm = sm * 10 + (c - '0');
  }
  module_->target = name;
  module_->sm = sm;
  module_->sm_suffix = suffix;
  return true;
}

bool Parser::ParseAddressSize() {
  lexer_.SkipBlanks();
  const char* at = lexer_.at();
  uint64_t bits;
  if (!ParseUnsigned(64, &bits)) return false;
  if (bits != 32 && bits != 64) return Fail(at, "address size is neither 32 nor 64");
  module_->address_size = static_cast<int>(bits);
  return true;
}

// .file index "name" [, timestamp, size]
bool Parser::ParseFile() {
  uint64_t index, ignored;
  if (!ParseUnsigned(kMaxFileIndex, &index)) return false;
  std::string_view name;
  if (!lexer_.TakeString(&name)) return FailHere("expected a string");
  if (module_->files.size() <= index) module_->files.resize(index + 1);
  module_->files[index] = std::string(name);
  if (!lexer_.TakeIf(',')) return true;
  return ParseUnsigned(UINT64_MAX, &ignored) && Expect(',') && ParseUnsigned(UINT64_MAX, &ignored);
}

// .loc file line column [, function_name label [+ offset]] [, inlined_at file line column]
bool Parser::ParseLoc() {
  uint64_t file, line, ignored;
  if (!ParseUnsigned(UINT32_MAX, &file) || !ParseUnsigned(UINT32_MAX, &line) || !ParseUnsigned(UINT32_MAX, &ignored)) {
    return false;
  }
  loc_file_ = static_cast<uint32_t>(file);
  loc_line_ = static_cast<uint32_t>(line);
  while (lexer_.TakeIf(',')) {
    lexer_.SkipBlanks();
    const char* at = lexer_.at();
    const std::string_view attribute = lexer_.TakeName();
    if (attribute == "function_name") {
      lexer_.SkipBlanks();
      if (lexer_.TakeName().empty()) return FailHere("expected a label");
      if (lexer_.TakeIf('+') && !ParseUnsigned(UINT64_MAX, &ignored)) return false;
    } else if (attribute == "inlined_at") {
      for (int i = 0; i < 3; ++i) {
        if (!ParseUnsigned(UINT32_MAX, &ignored)) return false;
      }
    } else {
      return Fail(at, "unknown .loc attribute");
    }
  }
  return true;
}

// .section name { ... }: debug information, which has no part in execution.
bool Parser::ParseSection() {
  lexer_.SkipBlanks();
  const char* at = lexer_.at();
  if (lexer_.TakeDirective().empty() && lexer_.TakeName().empty()) return FailHere("expected a section name");
  lexer_.SkipDotted();
  if (!Expect('{')) return false;
  return lexer_.SkipBraces() || Fail(at, "section without end");
}

bool Parser::ParsePragma() {
  do {
    std::string_view ignored;
    if (!lexer_.TakeString(&ignored)) return FailHere("expected a string");
  } while (lexer_.TakeIf(','));
  return Expect(';');
}

// .alias new, old; a second name of a function.
bool Parser::ParseAlias() {
  lexer_.SkipBlanks();
  const char* at = lexer_.at();
  const std::string_view alias = lexer_.TakeName();
  if (alias.empty()) return FailHere("expected a name");
  if (!Expect(',')) return false;
  lexer_.SkipBlanks();
  const char* target_at = lexer_.at();
  uint32_t number;
  const Binding target = Resolve(lexer_.TakeName(), &number);
  if (target.kind != Binding::Kind::kSymbol || module_->symbols[target.index].kind != Symbol::Kind::kFunction) {
    return Fail(target_at, "expected a declared function");
  }
  const uint32_t name = names_.Intern(alias);
  const Binding old = names_[name].exact;
  if (old.kind != Binding::Kind::kNone) {
    const Symbol& declared = module_->symbols[old.index];
    if (declared.kind != Symbol::Kind::kFunction || !module_->functions[declared.function].is_declaration) {
      return Fail(at, "declared twice");
    }
    module_->symbols[old.index].function = module_->symbols[target.index].function;
  } else {
    Symbol symbol = module_->symbols[target.index];
    symbol.name = alias;
    uint32_t ignored;
    if (!DeclareSymbol(at, std::move(symbol), &ignored)) return false;
  }
  return Expect(';');
}

// .attribute(.managed), .attribute(.unified(a, b)): no part in execution of one kernel.
bool Parser::SkipAttribute() {
  if (!Expect('(')) return false;
  return SkipParentheses();
}

bool Parser::SkipParentheses() {
  const char* at = lexer_.at();
  for (int depth = 1; depth > 0;) {
    const char c = lexer_.Peek();
    if (lexer_.AtEnd() || c == ';' || c == '{' || c == '}') return Fail(at, "expected ')'");
    if (c == '(') ++depth;
    if (c == ')') --depth;
    lexer_.Advance();
  }
  return true;
}

}  // namespace samebits::isa::ptx
