// Labels and tables of labels. Scopes restrict labels, and a branch may come before its label, so uses are resolved
// when the function is complete: one pass over the opening and closing of scopes and the uses, in order.

#include <utility>

#include "core/isa/ptx/parser_impl.h"

namespace samebits::isa::ptx {

// After `name:`.
bool Parser::AddLabel(std::string_view name) {
  Label label;
  label.name = names_.Intern(name);
  label.scope = scopes_.back().label_scope;
  label.next_in_scope = scope_heads_[label.scope];
  label.target = static_cast<uint32_t>(function_.instructions.size());
  label.table_symbol = kNone32;
  label.shadowed = kNone32;
  label.offset = OffsetOf(name);
  const std::string_view directive = lexer_.PeekDirective();
  const bool is_table = directive == "branchtargets" || directive == "calltargets" || directive == "callprototype";
  if (is_table) {
    label.table_symbol = static_cast<uint32_t>(module_->symbols.size());
    if (label.table_symbol >= limits_.max_symbols) return OverLimit(name.data(), "max_symbols", limits_.max_symbols);
    Symbol& symbol = module_->symbols.emplace_back();
    symbol.name = name;
    symbol.kind = Symbol::Kind::kOther;
    symbol.function = function_index_;
  }
  scope_heads_[label.scope] = static_cast<uint32_t>(labels_.size());
  labels_.push_back(label);
  if (!is_table) return true;
  lexer_.TakeDirective();
  return ParseTable(directive, label.table_symbol);
}

bool Parser::ParseTable(std::string_view directive, uint32_t symbol) {
  if (directive == "branchtargets") return ParseBranchTargets(symbol);
  if (directive == "calltargets") return ParseCallTargets(symbol);
  return ParseCallPrototype(symbol);
}

bool Parser::ParseBranchTargets(uint32_t symbol) {
  const uint32_t table = static_cast<uint32_t>(function_.branch_tables.size());
  std::vector<uint32_t> targets;
  do {
    lexer_.SkipBlanks();
    const std::string_view name = lexer_.TakeName();
    if (name.empty()) return FailHere("expected a label");
    UseLabel(name, table, static_cast<uint32_t>(targets.size()));
    targets.push_back(kNone32);
  } while (lexer_.TakeIf(','));
  function_.branch_tables.emplace_back(symbol, std::move(targets));
  return Expect(';');
}

bool Parser::ParseCallTargets(uint32_t symbol) {
  std::vector<uint32_t> targets;
  do {
    lexer_.SkipBlanks();
    const char* at = lexer_.at();
    uint32_t number;
    const Binding binding = Resolve(lexer_.TakeName(), &number);
    if (binding.kind != Binding::Kind::kSymbol || module_->symbols[binding.index].kind != Symbol::Kind::kFunction) {
      return Fail(at, "expected a declared function");
    }
    targets.push_back(binding.index);
  } while (lexer_.TakeIf(','));
  function_.call_tables.emplace_back(symbol, std::move(targets));
  return Expect(';');
}

// [(returns)] _ (inputs) [directives] ;
bool Parser::ParseCallPrototype(uint32_t symbol) {
  lexer_.SkipBlanks();
  const char* from = lexer_.at();
  if (*from == '(' && !ParseParameters(/*is_input=*/false, /*declare=*/false)) return false;
  lexer_.SkipBlanks();
  if (lexer_.TakeName().empty()) return FailHere("expected '_'");
  if (lexer_.Peek() == '(' && !ParseParameters(/*is_input=*/true, /*declare=*/false)) return false;
  Function saved = std::exchange(function_, Function{});  // a prototype's directives are not the function's
  bool ok = true;
  while (ok && lexer_.Peek() == '.') ok = ParseFunctionDirective();
  function_ = std::move(saved);
  if (!ok) return false;
  module_->symbols[symbol].prototype = {from, static_cast<size_t>(lexer_.at() - from)};
  return Expect(';');
}

void Parser::UseLabel(std::string_view name, uint32_t table, uint32_t index) {
  label_events_.push_back({LabelEvent::Kind::kUse, static_cast<uint32_t>(label_uses_.size())});
  label_uses_.push_back({names_.Intern(name), OffsetOf(name), table, index});
}

bool Parser::ResolveLabels() {
  for (const LabelEvent& event : label_events_) {
    switch (event.kind) {
      case LabelEvent::Kind::kOpen:
        if (!OpenLabels(event.index)) return false;
        break;
      case LabelEvent::Kind::kClose:
        CloseLabels(event.index);
        break;
      case LabelEvent::Kind::kUse:
        if (!ResolveUse(label_uses_[event.index])) return false;
        break;
    }
  }
  CloseLabels(0);  // the function's own scope, which the first event opened
  return true;
}

bool Parser::OpenLabels(uint32_t scope) {
  for (uint32_t i = scope_heads_[scope]; i != kNone32; i = labels_[i].next_in_scope) {
    Label& label = labels_[i];
    Name& name = names_[label.name];
    if (name.label != kNone32 && labels_[name.label].scope == scope) {
      return Fail(lexer_.begin() + labels_[name.label].offset, "label defined twice");
    }
    label.shadowed = name.label;
    name.label = i;
  }
  return true;
}

void Parser::CloseLabels(uint32_t scope) {
  for (uint32_t i = scope_heads_[scope]; i != kNone32; i = labels_[i].next_in_scope) {
    names_[labels_[i].name].label = labels_[i].shadowed;
  }
}

bool Parser::ResolveUse(const LabelUse& use) {
  const char* at = lexer_.begin() + use.offset;
  const uint32_t found = names_[use.name].label;
  if (found == kNone32) return Fail(at, "undefined label");
  const Label& label = labels_[found];
  if (use.table != kNone32) {
    if (label.table_symbol != kNone32) return Fail(at, "table of a table");
    function_.branch_tables[use.table].second[use.index] = label.target;
    return true;
  }
  Operand& operand = function_.operand_pool[use.index];
  if (label.table_symbol != kNone32) {
    operand.kind = OperandKind::kSymbol;
    operand.symbol = label.table_symbol;
    operand.target = kNone32;
  } else {
    operand.target = label.target;
  }
  return true;
}

}  // namespace samebits::isa::ptx
