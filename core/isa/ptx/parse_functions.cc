// Entries and device functions: headers, parameters, directives.

#include <algorithm>
#include <utility>

#include "core/isa/ptx/parser_impl.h"

namespace samebits::isa::ptx {

// What follows `.entry` and `.func`.
bool Parser::ParseFunction(const Linkage& linkage, bool is_entry) {
  function_ = Function{};
  function_.is_entry = is_entry;
  function_.line = lexer_.line();
  has_memory_params_ = false;
  declared_registers_ = 0;
  loc_file_ = loc_line_ = 0;
  if (!OpenScope()) return false;
  if (!ParseFunctionHeader(linkage)) return false;
  const char* at = lexer_.at();
  if (lexer_.TakeIf(';')) {
    function_.is_declaration = true;
  } else if (!lexer_.TakeIf('{')) {
    return FailHere("expected '{' or ';'");
  } else {
    if (!module_->functions[function_index_].is_declaration) return Fail(at, "second body of a function");
    module_->functions[function_index_].is_declaration = false;
    if (!ParseBody()) return false;
  }
  CloseScope();
  return FinishFunction();
}

bool Parser::ParseFunctionHeader(const Linkage& linkage) {
  while (lexer_.PeekDirective() == "attribute") {
    lexer_.TakeDirective();
    if (!SkipAttribute()) return false;
  }
  if (!function_.is_entry && lexer_.Peek() == '(') {
    if (!ParseParameters(/*is_input=*/false, /*declare=*/true)) return false;
  }
  lexer_.SkipBlanks();
  const std::string_view name = lexer_.TakeName();
  if (name.empty()) return FailHere("expected a function name");
  if (!AddFunction(name, linkage)) return false;
  if (lexer_.Peek() == '(' && !ParseParameters(/*is_input=*/true, /*declare=*/true)) return false;
  if (!function_.register_params) {
    for (uint32_t symbol : function_.params) module_->symbols[symbol].function = function_index_;
    for (uint32_t symbol : function_.returns) module_->symbols[symbol].function = function_index_;
  }
  while (lexer_.Peek() == '.') {
    if (!ParseFunctionDirective()) return false;
  }
  return true;
}

// Finds the declared function `name`, or adds one whose body is still to come, and binds it in the module's scope.
bool Parser::AddFunction(std::string_view name, const Linkage& linkage) {
  function_.name = name;
  const uint32_t id = names_.Intern(name);
  Binding& binding = names_[id].exact;
  if (binding.kind != Binding::Kind::kNone) {
    if (binding.kind != Binding::Kind::kSymbol || module_->symbols[binding.index].kind != Symbol::Kind::kFunction ||
        module_->functions[module_->symbols[binding.index].function].is_entry != function_.is_entry) {
      return Fail(name.data(), "declared twice");
    }
    function_index_ = module_->symbols[binding.index].function;
    if (!linkage.is_extern) module_->symbols[binding.index].is_extern = false;
    return true;
  }
  if (module_->symbols.size() >= limits_.max_symbols) return OverLimit(name.data(), "max_symbols", limits_.max_symbols);
  function_index_ = static_cast<uint32_t>(module_->functions.size());
  Symbol symbol;
  symbol.name = name;
  symbol.kind = Symbol::Kind::kFunction;
  symbol.is_extern = linkage.is_extern;
  symbol.function = function_index_;
  // Visible from here to the end of the module, so behind the open scope of parameters, whose undo log must not
  // take it back.
  binding = {Binding::Kind::kSymbol, static_cast<uint32_t>(module_->symbols.size()), scopes_[0].id, ++order_};
  module_->symbols.push_back(std::move(symbol));
  Function& added = module_->functions.emplace_back();
  added.name = name;
  added.is_entry = function_.is_entry;
  added.is_declaration = true;
  return true;
}

// Keeps what was parsed, unless it only repeats the header of a function that has its body.
bool Parser::FinishFunction() {
  Function& kept = module_->functions[function_index_];
  if (!function_.is_declaration || kept.is_declaration) kept = std::move(function_);
  function_index_ = kNone32;
  labels_.clear();
  label_uses_.clear();
  label_events_.clear();
  scope_heads_.clear();
  declarations_.clear();
  sparse_registers_.clear();
  loc_file_ = loc_line_ = 0;
  return true;
}

bool Parser::ParseParameters(bool is_input, bool declare) {
  if (!Expect('(')) return false;
  if (lexer_.TakeIf(')')) return true;
  do {
    if (!ParseParameter(is_input, declare)) return false;
  } while (lexer_.TakeIf(','));
  return Expect(')');
}

bool Parser::ParseParameter(bool is_input, bool declare) {
  lexer_.SkipBlanks();
  const char* at = lexer_.at();
  const std::string_view directive = lexer_.TakeDirective();
  const bool is_register = directive == "reg";
  if (!is_register && directive != "param") return Fail(at, "expected .param or .reg");
  VariableHead head;
  if (!ParseVariableHead(is_register ? StateSpace::kReg : StateSpace::kParam, &head)) return false;
  lexer_.SkipBlanks();
  at = lexer_.at();
  Symbol symbol;
  symbol.name = lexer_.TakeName();
  if (symbol.name.empty()) return FailHere("expected a name");
  Dimensions dimensions;
  if (!ParseDimensions(&dimensions)) return false;
  if (!declare) return true;
  if (is_register && !dimensions.extents.empty()) return Fail(at, "array of registers");
  if (!is_register && !SizeVariable(at, head, dimensions, &symbol)) return false;
  return AddParameter(at, is_input, head, std::move(symbol));
}

bool Parser::AddParameter(const char* at, bool is_input, const VariableHead& head, Symbol symbol) {
  std::vector<uint32_t>& list = is_input ? function_.params : function_.returns;
  const std::string_view name = symbol.name;
  uint32_t index;
  if (head.space == StateSpace::kReg) {
    if (has_memory_params_ || head.vector != 1) return Fail(at, "parameters of this form");
    if (!DeclareRegisters(name, head, /*is_range=*/false, 1, &index)) return false;
    function_.register_params = true;
    list.push_back(RegisterIndex(index, 0, name));
    return true;
  }
  if (function_.register_params) return Fail(at, "both .reg and .param parameters");
  has_memory_params_ = true;
  symbol.kind = Symbol::Kind::kParam;
  symbol.space = StateSpace::kParam;
  if (is_input) symbol.param_index = static_cast<uint32_t>(list.size());
  if (!DeclareSymbol(at, std::move(symbol), &index)) return false;
  list.push_back(index);
  return true;
}

// A directive between the parameters and the body. Those without a meaning here, known or not, are a name and a list
// of numbers, strings and names.
bool Parser::ParseFunctionDirective() {
  const char* at = lexer_.at();
  const std::string_view directive = lexer_.TakeDirective();
  if (directive.empty()) return Fail(at, "expected a directive");
  if (directive == "reqntid") return ParseExtents(&function_.reqntid);
  if (directive == "maxntid") return ParseExtents(&function_.maxntid);
  if (directive == "reqnctapercluster") return ParseExtents(&function_.reqnctapercluster);
  if (directive == "pragma") return ParsePragma();
  if (directive == "attribute") return SkipAttribute();
  if (directive == "explicitcluster") {
    function_.explicit_cluster = true;
    return true;
  }
  bool needs_more = false;
  for (;;) {
    const char c = lexer_.Peek();
    std::string_view text;
    uint64_t number;
    if (Is(c, kDigitChar)) {
      if (!ParseUnsigned(UINT64_MAX, &number)) return false;
    } else if (c == '"') {
      if (!lexer_.TakeString(&text)) return FailHere("expected a string");
    } else if (Is(c, kNameStartChar)) {
      lexer_.TakeName();
    } else {
      return !needs_more || FailHere("expected a value");
    }
    needs_more = lexer_.TakeIf(',');
    if (!needs_more) return true;
  }
}

// One to three numbers; those left out are 1.
bool Parser::ParseExtents(std::array<uint32_t, 3>* extents) {
  *extents = {1, 1, 1};
  for (uint32_t& extent : *extents) {
    uint64_t value;
    if (!ParseUnsigned(UINT32_MAX, &value)) return false;
    extent = static_cast<uint32_t>(value);
    if (!lexer_.TakeIf(',')) return true;
  }
  return FailHere("more than three extents");
}

}  // namespace samebits::isa::ptx
