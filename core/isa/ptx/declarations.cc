// Names and their meanings: scopes, shadowing, ranges of registers.

#include <algorithm>

#include "core/isa/ptx/parser_impl.h"

namespace samebits::isa::ptx {
namespace {

// A slot of a range is kept in a dense table while the table stays within this many times the registers in use.
constexpr uint64_t kDenseFactor = 8, kDenseFree = 1024;
// Numbers of ranges are below 2^32: at most 10 digits.
constexpr size_t kMaxDigits = 10;

size_t TrailingDigits(std::string_view name) {
  size_t digits = 0;
  while (digits < name.size() && Is(name[name.size() - 1 - digits], kDigitChar)) ++digits;
  return digits;
}

// The number that the digits spell, leading zeros or not; false if there are too many of them.
bool RangeNumber(std::string_view digits, uint32_t* number) {
  if (digits.empty() || digits.size() > kMaxDigits) return false;
  uint64_t value = 0;
  for (char c : digits) value = value * 10 + (c - '0');
  *number = static_cast<uint32_t>(value);
  return value < kNone32;
}

}  // namespace

bool Parser::OpenScope() {
  if (scopes_.size() > limits_.max_scope_depth) {
    return OverLimit(lexer_.at(), "max_scope_depth", limits_.max_scope_depth);
  }
  Scope scope;
  scope.id = scope_count_++;
  scope.undo_mark = undo_.size();
  scope.label_scope = static_cast<uint32_t>(scope_heads_.size());
  scope_heads_.push_back(kNone32);
  label_events_.push_back({LabelEvent::Kind::kOpen, scope.label_scope});
  scopes_.push_back(scope);
  return true;
}

void Parser::CloseScope() {
  const Scope& scope = scopes_.back();
  label_events_.push_back({LabelEvent::Kind::kClose, scope.label_scope});
  while (undo_.size() > scope.undo_mark) {
    const Undo& undo = undo_.back();
    Name& name = names_[undo.name];
    (undo.is_range ? name.range : name.exact) = undo.old;
    undo_.pop_back();
  }
  scopes_.pop_back();
}

void Parser::Bind(std::string_view text, bool is_range, Binding::Kind kind, uint32_t index) {
  const uint32_t id = names_.Intern(text);
  Binding& binding = is_range ? names_[id].range : names_[id].exact;
  if (scopes_.size() > 1) undo_.push_back({id, is_range, binding});
  binding = {kind, index, scopes_.back().id, ++order_};
  const size_t digits = TrailingDigits(text);
  if (is_range) {
    if (text[0] != '%') has_plain_ranges_ = true;
    if (digits != 0) has_digit_ranges_ = true;
  } else if (digits != 0 && digits < text.size()) {
    names_[names_.Intern(text.substr(0, text.size() - digits))].has_numbered = true;
  }
}

bool Parser::IsDeclaredHere(std::string_view text, bool is_range) const {
  const uint32_t scope = scopes_.back().id;
  if (is_range) {
    const uint32_t id = names_.Find(text);
    return id != kNone32 && names_[id].range.kind != Binding::Kind::kNone && names_[id].range.scope == scope;
  }
  uint32_t number;
  const Binding binding = ResolveSlow(text, &number);
  return binding.kind != Binding::Kind::kNone && binding.scope == scope;
}

bool Parser::DeclareSymbol(const char* at, Symbol symbol, uint32_t* index) {
  const std::string_view name = symbol.name;
  if (IsDeclaredHere(name, /*is_range=*/false)) {
    uint32_t number;
    const Binding old = ResolveSlow(name, &number);
    if (old.kind != Binding::Kind::kSymbol) return Fail(at, "declared twice");
    Symbol& declared = module_->symbols[old.index];
    // An extern declaration and the definition that it announces, in either order.
    if (declared.kind != Symbol::Kind::kVariable || symbol.kind != Symbol::Kind::kVariable ||
        declared.space != symbol.space || declared.type != symbol.type || !(declared.is_extern || symbol.is_extern)) {
      return Fail(at, "declared twice");
    }
    if (declared.is_extern) declared = std::move(symbol);
    *index = old.index;
    return true;
  }
  if (module_->symbols.size() >= limits_.max_symbols) return OverLimit(at, "max_symbols", limits_.max_symbols);
  *index = static_cast<uint32_t>(module_->symbols.size());
  module_->symbols.push_back(std::move(symbol));
  Bind(name, /*is_range=*/false, Binding::Kind::kSymbol, *index);
  return true;
}

bool Parser::DeclareSymbolRange(const char* at, const Symbol& variable, uint32_t count) {
  if (IsDeclaredHere(variable.name, /*is_range=*/true)) return Fail(at, "declared twice");
  SymbolRange range;
  range.variable = variable;
  range.count = count;
  range.outer = PresentRange(variable.name);
  Bind(variable.name, /*is_range=*/true, Binding::Kind::kSymbolRange, static_cast<uint32_t>(symbol_ranges_.size()));
  symbol_ranges_.push_back(std::move(range));
  return true;
}

bool Parser::SymbolIndex(const Binding& binding, std::string_view name, uint32_t number, uint32_t* symbol) {
  if (binding.kind == Binding::Kind::kSymbol) {
    *symbol = binding.index;
    return true;
  }
  SymbolRange& range = symbol_ranges_[binding.index];
  const auto [entry, is_new] = range.symbols.try_emplace(number, static_cast<uint32_t>(module_->symbols.size()));
  *symbol = entry->second;
  if (!is_new) return true;
  if (*symbol >= limits_.max_symbols) return OverLimit(name.data(), "max_symbols", limits_.max_symbols);
  module_->symbols.push_back(range.variable);
  module_->symbols.back().name = name;
  return true;
}

bool Parser::DeclareRegisters(std::string_view name, const VariableHead& head, bool is_range, uint32_t count,
                              uint32_t* declaration) {
  if (IsDeclaredHere(name, is_range)) return Fail(name.data(), "declared twice");
  declared_registers_ += static_cast<uint64_t>(count) * head.vector;
  if (declared_registers_ > limits_.max_registers) {
    return OverLimit(name.data(), "max_registers", limits_.max_registers);
  }
  *declaration = static_cast<uint32_t>(declarations_.size());
  RegisterDeclaration& registers = declarations_.emplace_back();
  registers.type = head.type;
  registers.vector = head.vector;
  registers.count = count;
  registers.first_slots.fill(kNone32);
  if (is_range) registers.outer = PresentRange(name);
  Bind(name, is_range, Binding::Kind::kRegister, *declaration);
  return true;
}

Binding Parser::FindInRanges(Binding range, uint32_t number) const {
  for (;;) {
    switch (range.kind) {
      case Binding::Kind::kRegister:
        if (number < declarations_[range.index].count) return range;
        range = declarations_[range.index].outer;
        break;
      case Binding::Kind::kSymbolRange:
        if (number < symbol_ranges_[range.index].count) return range;
        range = symbol_ranges_[range.index].outer;
        break;
      default:
        return {};
    }
  }
}

Binding Parser::PresentRange(std::string_view prefix) const {
  const uint32_t id = names_.Find(prefix);
  return id == kNone32 ? Binding{} : names_[id].range;
}

Binding Parser::Resolve(std::string_view name, uint32_t* number) const {
  *number = 0;
  if (name.empty()) return {};
  if (name[0] != '%' && !has_plain_ranges_) {
    const uint32_t id = names_.Find(name);
    return id == kNone32 ? Binding{} : names_[id].exact;
  }
  const size_t digits = TrailingDigits(name);
  if (digits == 0) {
    const uint32_t id = names_.Find(name);
    return id == kNone32 ? Binding{} : names_[id].exact;
  }
  if (!has_digit_ranges_) {
    const uint32_t id = names_.Find(name.substr(0, name.size() - digits));
    if (id != kNone32 && !names_[id].has_numbered) {
      if (!RangeNumber(name.substr(name.size() - digits), number)) return {};
      return FindInRanges(names_[id].range, *number);
    }
  }
  return ResolveSlow(name, number);
}

Binding Parser::ResolveSlow(std::string_view name, uint32_t* number) const {
  Binding best;
  *number = 0;
  if (const uint32_t id = names_.Find(name); id != kNone32) best = names_[id].exact;
  const size_t digits = std::min(TrailingDigits(name), kMaxDigits);
  for (size_t taken = 1; taken <= digits && taken < name.size(); ++taken) {
    uint32_t value;
    if (!RangeNumber(name.substr(name.size() - taken), &value)) continue;
    const Binding found = FindInRanges(PresentRange(name.substr(0, name.size() - taken)), value);
    if (found.kind == Binding::Kind::kNone || found.order < best.order) continue;
    best = found;
    *number = value;
  }
  return best;
}

uint32_t Parser::AddRegister(RegisterDeclaration* declaration, std::string_view name) {
  const uint32_t index = static_cast<uint32_t>(function_.registers.size());
  function_.registers.push_back({name, declaration->type});
  ++declaration->used;
  return index;
}

uint32_t Parser::RegisterIndex(uint32_t declaration, uint64_t slot, std::string_view name) {
  RegisterDeclaration& registers = declarations_[declaration];
  if (slot < registers.first_slots.size()) {
    uint32_t& index = registers.first_slots[slot];
    if (index == kNone32) index = AddRegister(&registers, name);
    return index;
  }
  if (slot >= registers.dense.size() && slot < kDenseFree + kDenseFactor * registers.used) {
    const uint64_t slots = static_cast<uint64_t>(registers.count) * registers.vector;
    registers.dense.resize(std::min(slots, slot + slot / 2 + 16), kNone32);
  }
  if (slot < registers.dense.size()) {
    uint32_t& index = registers.dense[slot];
    if (index == kNone32) {
      // The slot may have been used before the dense table reached it.
      const auto sparse = sparse_registers_.find(static_cast<uint64_t>(declaration) << 32 | slot);
      index = sparse != sparse_registers_.end() ? sparse->second : AddRegister(&registers, name);
    }
    return index;
  }
  const auto [entry, is_new] = sparse_registers_.try_emplace(static_cast<uint64_t>(declaration) << 32 | slot, 0);
  if (is_new) entry->second = AddRegister(&registers, name);
  return entry->second;
}

}  // namespace samebits::isa::ptx
