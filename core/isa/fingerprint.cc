#include "core/isa/fingerprint.h"

#include <string_view>

namespace samebits::isa {

namespace {

class Digester {
 public:
  explicit Digester(const Module& module) : module_(module) {}

  Digest128 Run(uint32_t entry) {
    Add(entry);
    Add(module_.version_major);
    Add(module_.version_minor);
    Add(module_.target);
    Add(module_.address_size);
    Add(module_.symbols.size());
    for (const Symbol& s : module_.symbols) Add(s);
    Add(module_.functions.size());
    for (const Function& f : module_.functions) Add(f);
    return hash_.Finish();
  }

 private:
  template <typename Number>
  void Add(Number n) {
    hash_.Add(static_cast<uint64_t>(n));
  }
  void Add(std::string_view text) {
    hash_.Add(text.size());
    for (const char c : text) hash_.Add(static_cast<uint8_t>(c));
  }
  template <typename Number>
  void Add(const std::vector<Number>& numbers) {
    hash_.Add(numbers.size());
    for (const Number n : numbers) Add(n);
  }

  void Add(const Symbol& s) {
    // What others define is known by its name alone.
    const bool foreign = s.is_extern || (s.kind == Symbol::Kind::kFunction && s.function < module_.functions.size() &&
                                         module_.functions[s.function].is_declaration);
    Add(foreign ? s.name : std::string_view());
    for (const uint64_t field :
         {static_cast<uint64_t>(s.kind), static_cast<uint64_t>(s.space), static_cast<uint64_t>(s.type),
          uint64_t{s.align}, s.size, uint64_t{s.is_extern}, uint64_t{s.is_pointer},
          static_cast<uint64_t>(s.pointer_space), uint64_t{s.pointer_align}, uint64_t{s.vector}, uint64_t{s.function},
          uint64_t{s.param_index}, uint64_t{s.init_has_addresses}})
      hash_.Add(field);
    Add(s.init);
    Add(s.init_addresses.size());
    for (const InitAddress& a : s.init_addresses) {
      for (const uint64_t field : {a.offset, a.mask, uint64_t{a.symbol}, static_cast<uint64_t>(a.addend), uint64_t{a.is_generic}})
        hash_.Add(field);
    }
    Add(s.prototype);
  }

  void Add(const Function& f) {
    Add(f.is_declaration ? f.name : std::string_view());
    Add(f.is_entry);
    Add(f.is_declaration);
    Add(f.params);
    Add(f.returns);
    Add(f.register_params);
    Add(f.registers.size());
    for (const Register& r : f.registers) Add(r.type);
    Add(f.instructions.size());
    for (const Instruction& in : f.instructions) Add(in);
    Add(f.operand_pool.size());
    for (const Operand& o : f.operand_pool) Add(o);
    for (const auto* tables : {&f.branch_tables, &f.call_tables}) {
      Add(tables->size());
      for (const auto& [symbol, entries] : *tables) {
        Add(symbol);
        Add(entries);
      }
    }
    for (const auto* dimensions : {&f.reqntid, &f.maxntid, &f.reqnctapercluster})
      for (const uint32_t extent : *dimensions) Add(extent);
    Add(f.explicit_cluster);
  }

  // The dotted name says operation, modifiers, types and shape in order of writing.
  void Add(const Instruction& in) {
    Add(in.name);
    for (const uint64_t field : {static_cast<uint64_t>(in.op), uint64_t{in.guard}, uint64_t{in.guard_negated},
                                 uint64_t{in.first_operand}, uint64_t{in.operand_count}})
      hash_.Add(field);
  }

  void Add(const Operand& o) {
    for (const uint64_t field :
         {static_cast<uint64_t>(o.kind), uint64_t{o.negated}, uint64_t{o.is_float}, static_cast<uint64_t>(o.special),
          uint64_t{o.float_bits}, static_cast<uint64_t>(static_cast<uint8_t>(o.selector)), uint64_t{o.selected},
          uint64_t{o.reg}, uint64_t{o.pair_reg}, uint64_t{o.symbol}, uint64_t{o.count}, uint64_t{o.target},
          static_cast<uint64_t>(o.imm)})
      hash_.Add(field);
    // Of an unmodelled special register, `first` is a place in the text.
    const bool spelled = o.kind == OperandKind::kSpecial && o.special == Special::kOther;
    Add(spelled ? uint64_t{0} : uint64_t{o.first});
    if (spelled) Add(std::string_view(*module_.text).substr(o.first, o.count));
  }

  const Module& module_;
  WordHasher hash_;
};

}  // namespace

Digest128 Fingerprint(const Module& module, uint32_t entry) {
  if (module.amdgcn == nullptr) return Digester(module).Run(entry);
  // What else the module has of such a text is its outline only.
  WordHasher h(403);
  h.Add(entry);
  for (const char c : *module.text) h.Add(static_cast<uint8_t>(c));
  return h.Finish();
}

}  // namespace samebits::isa
