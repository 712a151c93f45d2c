// Bodies of functions: scopes, statements, directives inside of them.

#include "core/isa/ptx/parser_impl.h"

namespace samebits::isa::ptx {

// From behind the `{` of a function to behind its `}`. Its outermost names share the scope of the parameters, which
// stays open.
bool Parser::ParseBody() {
  const size_t outer = scopes_.size();
  for (;;) {
    const char c = lexer_.Peek();
    if (c == '}') {
      lexer_.Advance();
      if (scopes_.size() == outer) break;
      CloseScope();
    } else if (c == '{') {
      if (!OpenScope()) return false;
      lexer_.Advance();
    } else if (!ParseStatement(c)) {
      return false;
    }
  }
  return ResolveLabels();
}

bool Parser::ParseStatement(char c) {
  if (c == '.') return ParseBodyDirective();
  statement_line_ = lexer_.line();
  if (c == '@') return ParseGuarded();
  const std::string_view name = lexer_.TakeDottedName();
  if (name.empty()) return FailHere(lexer_.AtEnd() ? "function without end" : "expected a statement");
  if (lexer_.Peek() != ':') return ParseInstruction(name, kNone32, false);
  if (name.find_first_of(".:") != std::string_view::npos) return Fail(name.data(), "malformed label");
  lexer_.Advance();
  return AddLabel(name);
}

bool Parser::ParseBodyDirective() {
  const char* at = lexer_.at();
  const std::string_view directive = lexer_.TakeDirective();
  if (directive == "loc") return ParseLoc();
  if (directive == "reg") return ParseRegisters();
  if (directive == "pragma") return ParsePragma();
  if (directive == "file") return ParseFile();
  if (directive == "section") return ParseSection();
  const StateSpace space = VariableSpace(directive);
  if (space != StateSpace::kNone) return ParseVariables(Linkage{}, space);
  return Fail(at, "unknown directive");
}

// @p and @!p before an instruction.
bool Parser::ParseGuarded() {
  lexer_.Advance();
  const bool negated = lexer_.TakeIf('!');
  lexer_.SkipBlanks();
  const char* at = lexer_.at();
  const std::string_view name = lexer_.TakeName();
  uint32_t number;
  const Binding binding = Resolve(name, &number);
  if (binding.kind != Binding::Kind::kRegister || declarations_[binding.index].vector != 1) {
    return Fail(at, "expected a predicate register");
  }
  const uint32_t guard = RegisterIndex(binding.index, number, name);
  lexer_.SkipBlanks();
  const std::string_view opcode = lexer_.TakeDottedName();
  if (opcode.empty()) return FailHere("expected an instruction");
  return ParseInstruction(opcode, guard, negated);
}

}  // namespace samebits::isa::ptx
