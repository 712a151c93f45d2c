#ifndef SAMEBITS_CORE_ISA_PTX_PARSER_IMPL_H_
#define SAMEBITS_CORE_ISA_PTX_PARSER_IMPL_H_

// Inside of the parser; include only from core/isa/ptx/parse*.cc.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "core/isa/module.h"
#include "core/isa/ptx/lexer.h"
#include "core/isa/ptx/names.h"
#include "core/isa/ptx/parser.h"

namespace samebits::isa::ptx {

// A recursive-descent parser over one text; recursion is only in constant expressions, and bounded. Every Parse*
// method starts at its construct (blanks before it may be left), leaves the lexer behind it, and returns false
// after the first error, which is kept in `status_`.
class Parser {
 public:
  Parser(Module* module, const ParseLimits& limits);

  absl::Status Run();

 private:
  // `.reg` of one name or of a range; components of vectors are registers of their own. Registers get their index
  // in Function::registers when they are first used.
  struct RegisterDeclaration {
    ScalarType type;
    uint8_t vector = 1;
    uint32_t count = 1;                   // numbers of a range
    uint32_t used = 0;                    // slots with an index
    Binding outer;                        // the range of this prefix that this one shadows, for higher numbers
    std::array<uint32_t, 4> first_slots;  // indices of slots 0 to 3, kNone32 while unused
    std::vector<uint32_t> dense;          // of low slots; grows with use
  };
  // `name<N>` of a variable: its symbols are made when they are first used.
  struct SymbolRange {
    Symbol variable;
    uint32_t count = 0;
    Binding outer;
    absl::flat_hash_map<uint32_t, uint32_t> symbols;  // by number
  };
  struct Scope {
    uint32_t id = 0;
    size_t undo_mark = 0;
    uint32_t label_scope = 0;  // in scope_heads_
  };
  struct Undo {
    uint32_t name;
    bool is_range;
    Binding old;
  };
  struct Label {
    uint32_t name, scope, next_in_scope;  // scope: in scope_heads_
    uint32_t target;                      // instruction index
    uint32_t table_symbol;                // kNone32 if this is no table
    uint32_t shadowed;
    uint32_t offset;  // in the text
  };
  // A place that names a label: element `index` of branch_tables[table], or of the operand pool if that is kNone32.
  struct LabelUse {
    uint32_t name, offset, table, index;
  };
  // What happens to labels, in the order of the text: scopes open and close, uses are looked up.
  struct LabelEvent {
    enum class Kind : uint8_t { kOpen, kClose, kUse } kind;
    uint32_t index;  // in scope_heads_, or in label_uses_
  };
  struct DecodedName {
    std::string_view name;
    Instruction instruction;
  };
  struct Value {
    uint64_t bits = 0;
    bool is_unsigned = false;
    bool is_decimal = false;  // a floating-point constant written in decimal
    uint8_t float_bits = 0;   // 0: an integer
  };
  struct Linkage {
    bool is_extern = false, is_visible = false, is_weak = false, is_common = false;
  };
  // The common part of variable declarations and parameters.
  struct VariableHead {
    StateSpace space = StateSpace::kNone;
    ScalarType type = ScalarType::kNone;
    uint32_t align = 0;
    uint8_t vector = 1;
    bool is_pointer = false;
    StateSpace pointer_space = StateSpace::kNone;
    uint32_t pointer_align = 0;
  };
  struct Dimensions {
    std::vector<uint64_t> extents;  // outermost first; extents[0] is 0 for `[]`
    bool is_unsized = false;
  };

  // parser.cc: errors.
  bool Fail(const char* at, std::string_view what);
  bool FailHere(std::string_view what);
  bool OverLimit(const char* at, std::string_view limit, uint64_t bound);
  bool Expect(char c);
  // Whether WARP_SZ, the one constant that is a name, is here.
  bool AtWarpSize();
  uint32_t OffsetOf(std::string_view token) const { return static_cast<uint32_t>(token.data() - lexer_.begin()); }

  // parse_directives.cc: module level and directives that occur anywhere.
  bool ParseModule();
  bool ParseModuleDirective();
  bool ParseVersion();
  bool ParseTarget();
  bool ParseTargetName(std::string_view name);
  bool ParseAddressSize();
  bool ParseFile();
  bool ParseLoc();
  bool ParseSection();
  bool ParsePragma();
  bool ParseAlias();
  bool SkipAttribute();
  bool SkipParentheses();
  bool ParseDeclaration(const char* at, std::string_view directive);
  static StateSpace VariableSpace(std::string_view directive);
  // An unsigned integer that fits `limit`, without an expression.
  bool ParseUnsigned(uint64_t limit, uint64_t* value);

  // parse_variables.cc
  bool ParseRegisters();
  bool ParseVariables(const Linkage& linkage, StateSpace space);
  bool ParseVariable(const Linkage& linkage, const VariableHead& head);
  bool ParseVariableHead(StateSpace space, VariableHead* head);
  bool ParsePointer(VariableHead* head);
  bool ParseAlign(uint32_t* align);
  bool ParseDimensions(Dimensions* dimensions);
  bool SizeVariable(const char* at, const VariableHead& head, const Dimensions& dimensions, Symbol* symbol);
  // `<N>` if it is there, else *count = 0.
  bool ParseRangeCount(uint32_t* count);

  // declarations.cc: names and their meanings in the present scope.
  bool DeclareSymbol(const char* at, Symbol symbol, uint32_t* index);
  bool DeclareSymbolRange(const char* at, const Symbol& variable, uint32_t count);
  bool DeclareRegisters(std::string_view name, const VariableHead& head, bool is_range, uint32_t count,
                        uint32_t* declaration);
  // Whether the present scope has the name (or the range of that prefix) already.
  bool IsDeclaredHere(std::string_view name, bool is_range) const;
  void Bind(std::string_view name, bool is_range, Binding::Kind kind, uint32_t index);
  // The meaning of `name`; kNone if it has none. *number is its position in a range, 0 outside of ranges.
  Binding Resolve(std::string_view name, uint32_t* number) const;
  Binding ResolveSlow(std::string_view name, uint32_t* number) const;
  // The innermost of a range and those it shadows that has `number`; kNone if none has.
  Binding FindInRanges(Binding range, uint32_t number) const;
  Binding PresentRange(std::string_view prefix) const;
  // The index in Function::registers of slot number * vector + component of a declaration, made at its first use.
  uint32_t RegisterIndex(uint32_t declaration, uint64_t slot, std::string_view name);
  uint32_t AddRegister(RegisterDeclaration* declaration, std::string_view name);
  // The symbol of a binding to a symbol or to a range of symbols.
  bool SymbolIndex(const Binding& binding, std::string_view name, uint32_t number, uint32_t* symbol);
  bool OpenScope();
  void CloseScope();

  // parse_initializers.cc
  bool ParseInitializer(const Dimensions& dimensions, Symbol* symbol);
  bool ParseInitializerLists(const std::vector<uint64_t>& strides, uint64_t bound, Symbol* symbol, uint64_t* elements);
  bool ParseInitializerElement(uint64_t position, Symbol* symbol);
  bool ParseInitializerAddress(uint64_t offset, uint64_t mask, Symbol* symbol);
  bool ConvertElement(const Value& value, ScalarType type, uint64_t* stored) const;
  bool StoreElement(const char* at, const Value& value, uint64_t position, Symbol* symbol);

  // parse_functions.cc
  bool ParseFunction(const Linkage& linkage, bool is_entry);
  bool ParseFunctionHeader(const Linkage& linkage);
  bool AddFunction(std::string_view name, const Linkage& linkage);
  bool FinishFunction();
  bool ParseParameters(bool is_input, bool declare);
  bool ParseParameter(bool is_input, bool declare);
  bool AddParameter(const char* at, bool is_input, const VariableHead& head, Symbol symbol);
  bool ParseFunctionDirective();
  bool ParseExtents(std::array<uint32_t, 3>* extents);

  // parse_bodies.cc
  bool ParseBody();
  bool ParseStatement(char c);
  bool ParseBodyDirective();
  bool ParseGuarded();

  // labels.cc
  bool AddLabel(std::string_view name);
  bool ParseTable(std::string_view directive, uint32_t symbol);
  bool ParseBranchTargets(uint32_t symbol);
  bool ParseCallTargets(uint32_t symbol);
  bool ParseCallPrototype(uint32_t symbol);
  void UseLabel(std::string_view name, uint32_t table, uint32_t index);
  bool ResolveLabels();
  bool OpenLabels(uint32_t scope);
  void CloseLabels(uint32_t scope);
  bool ResolveUse(const LabelUse& use);

  // parse_instructions.cc
  bool ParseInstruction(std::string_view name, uint32_t guard, bool guard_negated);
  const Instruction& DecodeName(std::string_view name);
  bool ParseOperands(const Instruction& instruction);
  bool ParseNextOperand(Op op);
  bool ParseCallOperands();
  bool ParseCallList(Operand* list);
  bool ParseCallTarget(Operand* target);
  bool AppendOperands(Instruction* instruction);
  // Adds to the operand pool of the function.
  bool AddOperand(const Operand& operand);

  // parse_operands.cc
  bool ParseOperand(Operand* operand);
  bool ParseNamedOperand(Operand* operand);
  bool ParseLabelOperand(Operand* operand);
  // Of an instruction that is not known.
  bool ParseUnknownOperand(Operand* operand);
  bool ParseNegatedOperand(Operand* operand);
  bool ParseRegisterTail(const Binding& binding, std::string_view name, uint32_t number, Operand* operand);
  bool ParseComponent(const Binding& binding, std::string_view name, uint32_t number, Operand* operand);
  bool ParseSelector(Operand* operand);
  bool ParsePair(Operand* operand);
  bool ParseSymbolTail(uint32_t symbol, Operand* operand);
  bool ParseSpecialRegister(std::string_view name, Operand* operand);
  bool ParseVector(Operand* operand);
  bool ParseImmediate(Operand* operand);

  // parse_addresses.cc
  bool ParseAddress(Operand* operand);
  bool ParseAddressBase(Operand* operand);
  bool ParseAddressList(Operand* operand);
  // Offsets with their signs, `+4`, `-4`, `+-4`, as many as there are; added to operand->imm.
  bool ParseOffset(Operand* operand);
  // What follows the `[` of `name[index]`: an offset in bytes.
  bool ParseIndex(uint32_t symbol, Operand* operand);

  // parse_constants.cc; `has_first`: *value is the first operand already.
  bool ParseConstant(Value* value);
  bool ParseConditional(bool has_first, Value* value);
  bool ParseBinary(int lowest, bool has_first, Value* value);
  bool ParseUnary(Value* value);
  bool ParsePrefixed(char prefix, Value* value);
  bool ParseParenthesis(Value* value);
  bool ParseLiteral(Value* value);
  bool ParseInteger(const char* from, int base, Value* value);
  bool ParseFloatBits(const char* from, int digits, Value* value);
  bool ParseDecimalFloat(const char* from, Value* value);
  bool ApplyBinary(const char* at, int op, const Value& right, Value* value);
  static bool ApplyFloat(int op, const Value& right, Value* value);

  Module* const module_;
  const ParseLimits limits_;
  Lexer lexer_;
  absl::Status status_;
  NameTable names_;
  uint64_t instruction_count_ = 0, operand_count_ = 0, initializer_bytes_ = 0;
  bool has_target_ = false;

  // The function under construction; `function_index_` is kNone32 outside of bodies.
  Function function_;
  uint32_t function_index_ = kNone32;
  bool has_memory_params_ = false;
  uint32_t loc_file_ = 0, loc_line_ = 0, statement_line_ = 0;
  uint64_t declared_registers_ = 0;
  std::vector<RegisterDeclaration> declarations_;
  std::vector<SymbolRange> symbol_ranges_;
  absl::flat_hash_map<uint64_t, uint32_t> sparse_registers_;  // by declaration << 32 | slot
  bool has_plain_ranges_ = false;                             // some range's prefix has no '%'
  bool has_digit_ranges_ = false;                             // some range's prefix ends in a digit

  std::vector<Scope> scopes_;          // open ones; [0] is the module's
  std::vector<uint32_t> scope_heads_;  // first label by scope of the function, in the order of opening
  uint32_t scope_count_ = 1, order_ = 0;
  std::vector<Undo> undo_;
  std::vector<Label> labels_;
  std::vector<LabelUse> label_uses_;
  std::vector<LabelEvent> label_events_;

  std::vector<Operand> operands_;  // of the instruction under construction
  int expression_depth_ = 0;
  std::vector<DecodedName> decoded_;  // direct-mapped by hash
};

}  // namespace samebits::isa::ptx

#endif  // SAMEBITS_CORE_ISA_PTX_PARSER_IMPL_H_
