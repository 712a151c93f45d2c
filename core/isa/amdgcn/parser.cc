#include "core/isa/amdgcn/parser.h"

#include <algorithm>
#include <cctype>
#include <unordered_map>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "core/isa/amdgcn/metadata.h"
#include "core/isa/amdgcn/operand.h"
#include "core/isa/amdgcn/verify.h"
#include "core/isa/ptx/parser.h"

namespace samebits::isa::amdgcn {

namespace {

constexpr size_t kMaxLine = 1 << 16;

bool IsNameChar(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '$' || c == '@';
}

// The line without its comment.
std::string_view WithoutComment(std::string_view line) {
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"' && (i == 0 || line[i - 1] != '\\')) quoted = !quoted;
    if (quoted) continue;
    if (line[i] == ';' || (line[i] == '/' && i + 1 < line.size() && line[i + 1] == '/')) return line.substr(0, i);
  }
  return line;
}

// Words of 32 bits that operands of shape V have; 0 where any number will do.
int WordsOf(Op op, bool lds_pair_of_64) {
  switch (op) {
    case Op::kSLoad1: case Op::kBufferLoad1: case Op::kBufferStore1: case Op::kGlobalLoad1: case Op::kGlobalStore1: return 1;
    case Op::kSLoad2: case Op::kBufferLoad2: case Op::kBufferStore2: case Op::kGlobalLoad2: case Op::kGlobalStore2:
    case Op::kDsRead64: case Op::kDsWriteB64: case Op::kGlobalAtomicAddF64: case Op::kDsRead2B32: case Op::kDsRead2St64B32:
      return 2;
    case Op::kBufferLoad3: case Op::kBufferStore3: case Op::kGlobalLoad3: case Op::kGlobalStore3: case Op::kDsRead96:
    case Op::kDsWriteB96:
      return 3;
    case Op::kSLoad4: case Op::kBufferLoad4: case Op::kBufferStore4: case Op::kGlobalLoad4: case Op::kGlobalStore4:
    case Op::kDsRead128: case Op::kDsWriteB128: case Op::kDsRead2B64: case Op::kDsRead2St64B64:
      return 4;
    case Op::kDsWrite2B64: case Op::kDsWrite2St64B64: return lds_pair_of_64 ? 2 : 0;
    case Op::kSLoad8: return 8;
    case Op::kSLoad16: return 16;
    default: return 0;
  }
}

class Parser {
 public:
  Parser(Module* module, Program* program, const ParseLimits& limits) : module_(*module), program_(*program), limits_(limits) {}

  absl::Status Run() {
    std::string_view rest = program_.text;
    while (!rest.empty()) {
      ++line_;
      const size_t end = std::min(rest.find('\n'), rest.size());
      raw_ = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (raw_.size() > kMaxLine) return Error(raw_, "line is too long");
      if (absl::Status s = OneLine(); !s.ok()) return s;
    }
    if (in_metadata_) return Error(raw_, ".amdgpu_metadata without its end");
    if (descriptor_ != nullptr) return Error(raw_, ".amdhsa_kernel without its end");
    return Finish();
  }

 private:
  struct Body {
    std::string_view name;
    std::vector<Instruction> instructions;
    std::unordered_map<std::string_view, uint32_t> labels;
    struct Reference {
      uint32_t instruction, operand;
      std::string_view label;
    };
    std::vector<Reference> references;
    uint32_t preload_entry = 0, line = 0;
  };

  absl::Status Error(std::string_view fragment, std::string_view what) const {
    size_t column = 1;
    if (fragment.data() >= raw_.data() && fragment.data() <= raw_.data() + raw_.size())
      column = static_cast<size_t>(fragment.data() - raw_.data()) + 1;
    std::string shown(fragment.substr(0, 60));
    for (char& c : shown)
      if (std::isprint(static_cast<unsigned char>(c)) == 0) c = '?';
    absl::Status status = absl::InvalidArgumentError(
        absl::StrCat("line ", line_, ", column ", column, ": ", std::string(what), shown.empty() ? "" : absl::StrCat(": '", shown, "'")));
    status.SetPayload(ptx::kAmdgcnParseErrorUrl, absl::Cord(absl::StrCat(line_, "\n", column, "\n", std::string(what), "\n", shown)));
    return status;
  }

  absl::Status OneLine() {
    if (in_metadata_) {
      if (Strip(raw_) == ".end_amdgpu_metadata") return EndMetadata();
      metadata_.push_back(raw_);
      return absl::OkStatus();
    }
    std::string_view text = Strip(WithoutComment(raw_));
    if (text.find("/*") != std::string_view::npos) return Error(text, "block comments are not supported");
    for (int labels = 0; !text.empty() && labels < 64; ++labels) {
      size_t n = 0;
      while (n < text.size() && IsNameChar(text[n])) ++n;
      if (n == 0 || n >= text.size() || text[n] != ':') break;
      if (absl::Status s = Label(text.substr(0, n)); !s.ok()) return s;
      text = Strip(text.substr(n + 1));
    }
    if (text.empty()) return absl::OkStatus();
    const size_t space = std::min(text.find_first_of(" \t"), text.size());
    const std::string_view head = text.substr(0, space), rest = Strip(text.substr(space));
    if (head[0] == '.') return Directive(head, rest);
    if (!in_code_) return absl::OkStatus();
    // Symbol assignments.
    if (!rest.empty() && rest[0] == '=') return absl::OkStatus();
    return OneInstruction(head, rest);
  }

  absl::Status Label(std::string_view name) {
    if (!in_code_) return absl::OkStatus();
    if (name.substr(0, 2) != ".L" && !std::isdigit(static_cast<unsigned char>(name[0]))) {
      bodies_.emplace_back();
      bodies_.back().name = name;
      bodies_.back().line = line_;
      if (bodies_.size() > 4 * static_cast<size_t>(limits_.max_kernels))
        return absl::ResourceExhaustedError("limit max_kernels reached");
      return absl::OkStatus();
    }
    if (bodies_.empty()) return absl::OkStatus();
    Body& b = bodies_.back();
    if (!b.labels.emplace(name, static_cast<uint32_t>(b.instructions.size())).second) return Error(name, "label is defined twice");
    return absl::OkStatus();
  }

  absl::Status Directive(std::string_view head, std::string_view rest) {
    static constexpr std::string_view kRefused[] = {
        ".include", ".incbin", ".macro", ".endm", ".endmacro", ".rept", ".rep", ".irp", ".irpc", ".endr", ".altmacro",
        ".if", ".ifdef", ".ifndef", ".ifeq", ".ifne", ".ifc", ".ifb", ".else", ".elseif", ".endif", ".purgem", ".org",
        ".ifgt", ".ifge", ".ifle", ".iflt", ".ifnc", ".ifnb", ".ifeqs", ".ifnes", ".ifnotdef", ".exitm", ".end", ".insn"};
    for (const std::string_view refused : kRefused)
      if (head == refused) return Error(head, "directive is refused");
    if (descriptor_ != nullptr) return DescriptorLine(head, rest);
    if (head == ".text") {
      in_code_ = true;
    } else if (head == ".section" || head == ".data" || head == ".bss" || head == ".pushsection" || head == ".popsection" ||
               head == ".previous" || head == ".rodata") {
      if (head == ".popsection" || head == ".previous") return Error(head, "directive is refused");
      in_code_ = head == ".section" && rest.substr(0, 5) == ".text";
    } else if (head == ".amdgcn_target") {
      const size_t gfx = rest.find("gfx");
      if (gfx == std::string_view::npos) return Error(rest, "target is no gfx processor");
      size_t end = gfx + 3;
      while (end < rest.size() && std::isalnum(static_cast<unsigned char>(rest[end])) != 0) ++end;
      program_.target = std::string(rest.substr(gfx, end - gfx));
    } else if (head == ".amdhsa_kernel") {
      kernels_.emplace_back();
      if (kernels_.size() > limits_.max_kernels) return absl::ResourceExhaustedError("limit max_kernels reached");
      descriptor_ = &kernels_.back();
      descriptor_->name = rest;
      descriptor_->line = line_;
      descriptor_->has_descriptor = true;
    } else if (head == ".amdgpu_metadata") {
      in_metadata_ = true;
      metadata_line_ = line_;
    } else if (head == ".file") {
      return File(rest);
    } else if (head == ".loc") {
      return Loc(rest);
    } else if (in_code_ && (head == ".p2align" || head == ".balign" || head == ".align" || head == ".p2alignl")) {
      if (!bodies_.empty()) {
        Body& b = bodies_.back();
        const bool to_256 = head == ".p2align" && (rest == "8" || rest.substr(0, 2) == "8,");
        const bool ends = !b.instructions.empty() &&
                          (b.instructions.back().op == Op::kSBranch || b.instructions.back().op == Op::kSEndpgm);
        if (to_256 && ends && b.preload_entry == 0 && b.instructions.size() <= 24)
          b.preload_entry = static_cast<uint32_t>(b.instructions.size());
        // Padding behind an instruction that goes on is code of unknown content.
        else if (!b.instructions.empty() && !ends) AddUnknown(head);
      }
    } else if (in_code_ && !bodies_.empty() && !bodies_.back().instructions.empty() &&
               (head == ".byte" || head == ".short" || head == ".long" || head == ".quad" || head == ".word" || head == ".2byte" ||
                head == ".4byte" || head == ".8byte" || head == ".int" || head == ".fill" || head == ".space" || head == ".skip" ||
                head == ".zero" || head == ".ascii" || head == ".asciz" || head == ".string" || head == ".octa" || head == ".nops")) {
      AddUnknown(head);  // data in the instruction stream
    }
    return absl::OkStatus();
  }

  void AddUnknown(std::string_view name) {
    Instruction in;
    in.name = name;
    in.line = line_;
    bodies_.back().instructions.push_back(in);
  }

  absl::Status File(std::string_view rest) {
    const size_t space = std::min(rest.find_first_of(" \t"), rest.size());
    int64_t index = 0;
    if (!ParseInteger(rest.substr(0, space), &index) || index < 0 || index > 4096) return absl::OkStatus();
    std::string name;
    for (std::string_view s = rest.substr(space); !s.empty();) {
      const size_t open = s.find('"');
      if (open == std::string_view::npos) break;
      const size_t close = s.find('"', open + 1);
      if (close == std::string_view::npos) break;
      name = std::string(s.substr(open + 1, close - open - 1));
      s.remove_prefix(close + 1);
    }
    if (module_.files.size() <= static_cast<size_t>(index)) module_.files.resize(static_cast<size_t>(index) + 1);
    module_.files[static_cast<size_t>(index)] = name;
    return absl::OkStatus();
  }

  absl::Status Loc(std::string_view rest) {
    int64_t numbers[2] = {0, 0};
    for (int64_t& n : numbers) {
      const size_t space = std::min(rest.find_first_of(" \t"), rest.size());
      if (!ParseInteger(rest.substr(0, space), &n) || n < 0 || n > 0x7fffffff) return absl::OkStatus();
      rest = Strip(rest.substr(space));
    }
    loc_file_ = static_cast<uint32_t>(numbers[0]);
    loc_line_ = static_cast<uint32_t>(numbers[1]);
    return absl::OkStatus();
  }

  absl::Status DescriptorLine(std::string_view head, std::string_view rest) {
    Kernel& k = *descriptor_;
    if (head == ".end_amdhsa_kernel") {
      descriptor_ = nullptr;
      return absl::OkStatus();
    }
    if (head.substr(0, 8) != ".amdhsa_") return Error(head, "directive inside a kernel descriptor");
    const std::string_view key = head.substr(8);
    struct Field {
      std::string_view name;
      uint32_t* value;
    };
    const Field fields[] = {
        {"group_segment_fixed_size", &k.group_segment_bytes}, {"private_segment_fixed_size", &k.private_bytes},
        {"kernarg_size", &k.kernarg_bytes}, {"user_sgpr_private_segment_buffer", &k.private_segment_buffer},
        {"user_sgpr_dispatch_ptr", &k.dispatch_ptr}, {"user_sgpr_queue_ptr", &k.queue_ptr},
        {"user_sgpr_kernarg_segment_ptr", &k.kernarg_ptr}, {"user_sgpr_dispatch_id", &k.dispatch_id},
        {"user_sgpr_flat_scratch_init", &k.flat_scratch_init}, {"user_sgpr_private_segment_size", &k.private_segment_size},
        {"user_sgpr_kernarg_preload_length", &k.preload_length}, {"user_sgpr_kernarg_preload_offset", &k.preload_offset},
        {"system_vgpr_workitem_id", &k.workitem_id}, {"float_round_mode_32", &k.float_round_32},
        {"float_round_mode_16_64", &k.float_round_16_64}, {"float_denorm_mode_32", &k.float_denorm_32},
        {"float_denorm_mode_16_64", &k.float_denorm_16_64}};
    int64_t n = 0;
    auto number = [&](int64_t most) { return ParseInteger(rest, &n) && n >= 0 && n <= most; };
    for (const Field& f : fields)
      if (f.name == key) {
        if (!number(0xffffffff)) return Error(rest, "value of a kernel descriptor is no number");
        *f.value = static_cast<uint32_t>(n);
        return absl::OkStatus();
      }
    const std::pair<std::string_view, bool*> flags[] = {
        {"system_sgpr_workgroup_id_x", &k.workgroup_id[0]}, {"system_sgpr_workgroup_id_y", &k.workgroup_id[1]},
        {"system_sgpr_workgroup_id_z", &k.workgroup_id[2]}, {"system_sgpr_workgroup_info", &k.workgroup_info},
        {"ieee_mode", &k.ieee_mode}, {"dx10_clamp", &k.dx10_clamp}, {"fp16_overflow", &k.fp16_overflow}};
    for (const auto& [name, flag] : flags)
      if (name == key) {
        if (!number(1)) return Error(rest, "flag of a kernel descriptor is not 0 or 1");
        *flag = n != 0;
        return absl::OkStatus();
      }
    if (key == "user_sgpr_count") {
      if (!number(32)) return Error(rest, "value of a kernel descriptor is no number");
      k.user_sgpr_count = static_cast<uint32_t>(n);
      k.has_user_sgpr_count = true;
    } else if (key == "wavefront_size32") {
      if (!number(1)) return Error(rest, "flag of a kernel descriptor is not 0 or 1");
      k.wave_lanes = n != 0 ? 32 : 64;
    }
    return absl::OkStatus();
  }

  absl::Status EndMetadata() {
    in_metadata_ = false;
    size_t at = 0;
    std::string error;
    if (ParseMetadata(metadata_, &metadata_kernels_, &at, &error)) {
      metadata_.clear();
      return absl::OkStatus();
    }
    line_ = metadata_line_ + 1 + static_cast<uint32_t>(at);
    if (at < metadata_.size()) raw_ = metadata_[at];
    return Error(Strip(raw_), error);
  }

  absl::Status OneInstruction(std::string_view name, std::string_view rest) {
    if (bodies_.empty()) return Error(name, "instruction outside a function");
    Body& body = bodies_.back();
    if (++instructions_ > limits_.max_instructions) return absl::ResourceExhaustedError("limit max_instructions reached");
    for (const char c : name)
      if (!IsNameChar(c)) return Error(name, "not an instruction");
    Instruction in;
    in.name = name;
    in.line = line_;
    in.loc_file = loc_file_;
    in.loc_line = loc_line_;
    const Mnemonic m = FindMnemonic(name);
    in.op = m.op;
    in.compare = m.compare;
    in.type = m.type;
    in.sdwa = name.size() > 5 && name.substr(name.size() - 5) == "_sdwa";
    const uint32_t index = static_cast<uint32_t>(body.instructions.size());
    if (in.op == Op::kSWaitcnt) {
      if (!ParseWaitcnt(rest, &in)) return Error(rest, "malformed counters");
    } else if (in.op == Op::kSSetregImm) {
      if (!Setreg(rest, &in)) in.op = Op::kUnknown;
    } else if (in.op != Op::kUnknown) {
      std::vector<std::string_view> parts = SplitOperands(rest);
      const OpInfo* info_of = &InfoOf(in.op);
      const int listed = info_of->destinations() + info_of->sources();
      // What follows the last operand, or the mnemonic of an instruction without operands, is modifiers.
      if (!parts.empty()) {
        std::string_view last = parts.back();
        if (listed == 0) {
          if (parts.size() > 1) return Error(rest, "operand of an instruction that takes none");
          if (absl::Status s = Modifiers(last, &in); !s.ok()) return s;
          parts.clear();
        } else {
          int depth = 0;
          for (size_t i = 0; i < last.size(); ++i) {
            if (last[i] == '(' || last[i] == '[') ++depth;
            if (last[i] == ')' || last[i] == ']') --depth;
            if (depth == 0 && (last[i] == ' ' || last[i] == '\t')) {
              if (absl::Status s = Modifiers(Strip(last.substr(i)), &in); !s.ok()) return s;
              parts.back() = last.substr(0, i);
              break;
            }
          }
        }
      }
      // A load to LDS is written as one of registers without them.
      if (in.op == Op::kBufferLoad1 && in.lds) in.op = Op::kBufferLoadLds1, info_of = &InfoOf(in.op);
      const OpInfo& info = *info_of;
      const int expected = info.destinations() + info.sources();
      if (static_cast<int>(parts.size()) != expected) {
        // Some have forms with an operand more or less (returning atomics, LDS-direct loads).
        if (info.unit == Unit::kBuffer || info.unit == Unit::kGlobal || info.unit == Unit::kScalarMemory) in.op = Op::kUnknown;
        else return Error(rest, absl::StrCat("'", std::string(name), "' takes ", expected, " operands, not ", parts.size()));
      } else {
        for (size_t i = 0; i < parts.size(); ++i) {
          Operand& o = in.operands[i];
          if (!ParseOperand(parts[i], &o)) return Error(parts[i], "malformed operand");
          if (o.kind == OperandKind::kLabel) {
            if (info.unit != Unit::kBranch) {
              in.op = Op::kUnknown;  // a symbol's address
              break;
            }
            body.references.push_back({index, static_cast<uint32_t>(i), parts[i]});
          }
          if (o.kind == OperandKind::kOther) {
            in.op = Op::kUnknown;
            break;
          }
        }
        in.operand_count = static_cast<uint8_t>(parts.size());
        if (in.op != Op::kUnknown) {
          if (absl::Status s = CheckShape(in, info, parts); !s.ok()) return s;
          if (const Fault fault = Verify(in); !fault.what.empty())
            return Error(fault.operand < 0 ? rest : parts[static_cast<size_t>(fault.operand)], fault.what);
        }
      }
    }
    body.instructions.push_back(in);
    return absl::OkStatus();
  }

  // hwreg(HW_REG_MODE, offset, size), value.
  static bool Setreg(std::string_view rest, Instruction* in) {
    const std::vector<std::string_view> parts = SplitOperands(rest);
    if (parts.size() != 2 || parts[0].substr(0, 6) != "hwreg(" || parts[0].back() != ')') return false;
    const std::vector<std::string_view> inner = SplitOperands(parts[0].substr(6, parts[0].size() - 7));
    if (inner.size() != 3 || inner[0] != "HW_REG_MODE") return false;
    in->operand_count = 3;
    const std::string_view texts[3] = {inner[1], inner[2], parts[1]};
    for (int i = 0; i < 3; ++i) {
      if (!ParseOperand(texts[i], &in->operands[i]) || in->operands[i].kind != OperandKind::kImmediate) return false;
    }
    return true;
  }

  absl::Status Modifiers(std::string_view text, Instruction* in) {
    while (!text.empty()) {
      // A word ends at a blank outside brackets; `offset:swizzle(...)` holds blanks.
      size_t n = 0;
      int depth = 0;
      for (; n < text.size(); ++n) {
        if (text[n] == '[' || text[n] == '(') ++depth;
        if (text[n] == ']' || text[n] == ')') --depth;
        if (depth == 0 && (text[n] == ' ' || text[n] == '\t')) break;
      }
      if (!ParseModifier(text.substr(0, n), in)) return Error(text.substr(0, n), "malformed modifier");
      text = Strip(text.substr(n));
    }
    return absl::OkStatus();
  }

  absl::Status CheckShape(const Instruction& in, const OpInfo& info, const std::vector<std::string_view>& parts) const {
    const bool wide = in.type == Type::kI64 || in.type == Type::kU64 || in.type == Type::kF64;
    const int destinations = info.destinations();
    for (int i = 0; i < in.operand_count; ++i) {
      const Operand& o = in.operands[i];
      const size_t at = i < destinations ? static_cast<size_t>(i) : info.shape.find(':') + 1 + static_cast<size_t>(i - destinations);
      const char shape = info.shape[at];
      const bool is_register = o.kind == OperandKind::kRegister;
      int want = 0;
      switch (shape) {
        case 'd': want = 1; break;
        case 'D': case 'm': case 'I': case 'F': case 'P': want = 2; break;
        case 'i': case 'f': case 'h': case 'p': want = wide ? 2 : 1; break;
        case 'V': want = WordsOf(in.op, true); break;
        case 'R': want = 4; break;
        case 'k': if (o.kind != OperandKind::kImmediate || o.is_float) return Error(parts[i], "operand must be an integer constant"); break;
        case 't': if (o.kind != OperandKind::kLabel) return Error(parts[i], "operand must be a label"); break;
        default: break;
      }
      if (i < destinations && !is_register) return Error(parts[i], "destination is no register");
      if (is_register && want != 0 && o.count != want)
        return Error(parts[i], absl::StrCat("operand has ", o.count, " registers, '", std::string(in.name), "' takes ", want));
    }
    return absl::OkStatus();
  }

  absl::Status Finish() {
    for (Body& body : bodies_) {
      for (const Body::Reference& r : body.references) {
        const auto it = body.labels.find(r.label);
        if (it == body.labels.end()) body.instructions[r.instruction].op = Op::kUnknown;
        else body.instructions[r.instruction].operands[r.operand].imm = it->second;
      }
    }
    for (Kernel& k : kernels_) {
      Body* body = nullptr;
      for (Body& b : bodies_)
        if (b.name == k.name) body = &b;
      if (body == nullptr) {
        line_ = k.line;
        raw_ = {};
        return Error({}, absl::StrCat("kernel '", std::string(k.name), "' has no code"));
      }
      k.instructions = std::move(body->instructions);
      k.preload_entry = body->preload_entry;
      for (const KernelMetadata& m : metadata_kernels_) {
        if (m.name != k.name) continue;
        k.has_metadata = true;
        k.arguments = m.arguments;
        k.max_workgroup = m.max_workgroup;
        k.required_workgroup = m.required_workgroup;
        if (k.kernarg_bytes == 0) k.kernarg_bytes = m.kernarg_bytes;
      }
      AddEntry(k, body->line);
      program_.kernels.push_back(std::move(k));
    }
    return absl::OkStatus();
  }

  void AddEntry(Kernel& k, uint32_t line);

  Module& module_;
  Program& program_;
  const ParseLimits& limits_;
  std::string_view raw_;
  uint32_t line_ = 0, loc_file_ = 0, loc_line_ = 0, metadata_line_ = 0, instructions_ = 0;
  bool in_code_ = true, in_metadata_ = false;
  std::vector<Body> bodies_;
  std::vector<Kernel> kernels_;
  Kernel* descriptor_ = nullptr;
  std::vector<std::string_view> metadata_;
  std::vector<KernelMetadata> metadata_kernels_;
};

// The entry as the rest of the checker sees it: parameters, and branches for the control flow.
void Parser::AddEntry(Kernel& k, uint32_t line) {
  Function f;
  f.name = k.name;
  f.is_entry = true;
  f.line = line;
  for (int d = 0; d < 3; ++d) f.reqntid[d] = k.required_workgroup[d];
  f.maxntid[0] = k.max_workgroup;
  const uint32_t function = static_cast<uint32_t>(module_.functions.size());
  k.explicit_arguments = 0;
  for (const KernelArgument& a : k.arguments) {
    if (a.value_kind != "by_value" && a.value_kind != "global_buffer") break;
    ++k.explicit_arguments;
    Symbol s;
    s.name = a.name;
    s.kind = Symbol::Kind::kParam;
    s.space = StateSpace::kParam;
    s.size = a.size;
    s.type = a.size == 8 ? ScalarType::kB64 : a.size == 4 ? ScalarType::kB32 : a.size == 2 ? ScalarType::kB16 : ScalarType::kB8;
    s.is_pointer = a.is_pointer;
    s.function = function;
    s.param_index = static_cast<uint32_t>(f.params.size());
    f.params.push_back(static_cast<uint32_t>(module_.symbols.size()));
    module_.symbols.push_back(std::move(s));
  }
  f.registers.assign(kRegisters, {std::string_view(), ScalarType::kB32});
  f.registers[kScc].type = ScalarType::kPred;
  for (const Instruction& in : k.instructions) {
    isa::Instruction shadow;
    shadow.name = in.name;
    shadow.line = in.line;
    shadow.loc_file = in.loc_file;
    shadow.loc_line = in.loc_line;
    if (in.op == Op::kSEndpgm) shadow.op = ptx::Op::kExit;
    if (InfoOf(in.op).unit == Unit::kBranch && in.operand_count == 1) {
      shadow.op = ptx::Op::kBra;
      isa::Operand target;
      target.kind = isa::OperandKind::kLabel;
      target.target = static_cast<uint32_t>(in.operands[0].imm);
      shadow.first_operand = static_cast<uint32_t>(f.operand_pool.size());
      shadow.operand_count = 1;
      f.operand_pool.push_back(target);
      if (in.op != Op::kSBranch) shadow.guard = kScc;
    }
    f.instructions.push_back(shadow);
  }
  module_.functions.push_back(std::move(f));
}

}  // namespace

bool LooksLikeAmdgcn(std::string_view text) {
  const std::string_view head = text.substr(0, std::min<size_t>(text.size(), 1 << 20));
  return head.find(".amdgcn_target") != std::string_view::npos || head.find(".amdhsa_kernel") != std::string_view::npos;
}

absl::StatusOr<Module> Parse(std::string text, const ParseLimits& limits) {
  if (text.size() > limits.max_text_bytes)
    return absl::ResourceExhaustedError(absl::StrCat("text of ", text.size(), " bytes is over the limit max_text_bytes (",
                                                     limits.max_text_bytes, ")"));
  Module module;
  module.text = std::make_unique<const std::string>(std::move(text));
  auto program = std::make_shared<Program>();
  program->text = *module.text;
  Parser parser(&module, program.get(), limits);
  if (absl::Status s = parser.Run(); !s.ok()) return s;
  module.target = std::string_view(program->target);
  module.amdgcn = std::move(program);
  return module;
}

}  // namespace samebits::isa::amdgcn
