#ifndef SAMEBITS_CORE_SYMEXEC_AMDGCN_WAVE_MACHINE_H_
#define SAMEBITS_CORE_SYMEXEC_AMDGCN_WAVE_MACHINE_H_

// The executor of AMDGCN: waves of 64 lanes on the values, memory and control flow of the PTX one.
//
// Every register is 32 bits of each lane; a scalar register holds the same in all lanes of a wave. Three kinds of content
// go beyond 32 bits of data and are known by their tags:
//  - half of an address: Value::buffer is the buffer with kLowHalf or kHighHalf; the value is the whole 64-bit address.
//    A carry out of an addition to a low half is kCarry with that sum;
//  - half of a lane mask (VCC, EXEC, pairs that comparisons write): a predicate, or 1 bit of data; `constant` of a
//    predicate says which half;
//  - an offset that some lanes have replaced by kOutside, which no buffer contains: Value::mask.
// Whatever an instruction does with those beyond moving, joining and addressing is UNKNOWN.

#include <array>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/isa/amdgcn/program.h"
#include "core/symexec/amdgcn/lds.h"
#include "core/symexec/machine.h"
#include "core/symexec/shift_memo.h"

namespace samebits::symexec {

class WaveMachine : public Machine {
 public:
  // As Machine's; the module has an amdgcn program.
  WaveMachine(const isa::Module& module, uint32_t entry, const LaunchConfig& launch, const std::vector<uint32_t>& blocks,
              canonical::Builder* builder, LaneSpace* space, SymbolicSpace* symbolic, const MachineLimits& limits);

 protected:
  bool Setup() override;
  bool Begin() override;
  bool Step(std::vector<Fiber>& fibers, size_t which) override;
  uint64_t OwnMemory() const override {
    return lds_.memory_bytes() + matrix_memo_.memory_bytes() + lds_accesses_.size() * static_cast<uint64_t>(space_.lanes()) * 10;
  }

 private:
  using GcnInst = isa::amdgcn::Instruction;
  using GcnOperand = isa::amdgcn::Operand;
  static constexpr expr::BufferId kLowHalf = 0x4000, kHighHalf = 0x8000, kCarry = 0xc000, kTags = 0xc000;
  static constexpr expr::BufferId kKernarg = 0x3fff;
  static constexpr int64_t kOutside = 0x80000000;

  // wave_control.cc
  bool Branch64(std::vector<Fiber>& fibers, size_t which, const GcnInst& in);
  bool Diverge(std::vector<Fiber>& fibers, size_t which, MaskId taken, uint32_t target);
  bool BranchOnExec(std::vector<Fiber>& fibers, size_t which, const GcnInst& in);
  bool DeadAt(uint32_t pc, uint16_t reg) const;
  bool Reads(const GcnInst& in, uint16_t reg) const;
  bool Writes(const GcnInst& in, uint16_t reg) const;
  bool Run1(const GcnInst& in, MaskId wave);
  bool KnownExec(MaskId* known) const;
  bool RunVector(const GcnInst& in);
  bool RunGuarded(const GcnInst& in, const Lanes& guard);
  bool Wait(const GcnInst& in);
  bool AtBarrier();
  MaskId AnyOfWaves(MaskId m) const;  // all lanes of the waves that have one of m
  bool AnyOnData(const Lanes& condition, Value* any);
  bool Unmodelled64() { return Unmodelled(*current_); }

  // wave_registers.cc
  bool Awaited(uint16_t reg);
  bool Peek(uint16_t reg, Value* out);                 // with its tags
  bool IntegersHere(Value* v) const;
  bool Read32(const GcnOperand& o, Value* out);
  bool Read64(const GcnOperand& o, Value* out, bool is_f64 = false);
  bool ReadWords(const GcnOperand& o, int index, Value* out);  // register `index` of an operand
  bool ReadMask(const GcnOperand& o, Value* out);
  bool PairToMask(const Value& low, const Value& high, Value* out);
  bool MaskToInt(const Value& v, bool high, Value* out);
  bool Materialize(Value* v);
  bool Put(uint16_t reg, Value v);
  void Forget(uint16_t reg);
  bool Write32(const GcnOperand& o, Value v);
  bool Write64(const GcnOperand& o, Value v);
  bool WriteWords(const GcnOperand& o, int first, const Value& v);  // words of a wide value
  bool WriteMask(const GcnOperand& o, Value v);
  bool SetScc(Value v) { return Put(isa::amdgcn::kScc, std::move(v)); }
  bool SetSccNonZero(const Value& v, int width);
  bool Constant(uint16_t reg, uint64_t* out);
  bool SameValues(const Value& a, const Value& b) const;
  bool Join(const Value& low, const Value& high, Value* out);

  // wave_scalar.cc
  bool ExecScalar(const GcnInst& in);
  bool MaskLogic(const GcnInst& in);
  bool MaskCombine(expr::Fn fn, bool invert_second, bool invert_result, const Value& a, const Value& b, Value* out);
  bool AddCarry(const Value& a, const Value& b, Value* sum, Value* carry);
  bool AddWithCarry(const Value& a, const Value& b, const Value& carry_in, Value* sum, Value* carry, bool want_carry);
  bool ScalarLoad(const GcnInst& in);
  bool KernargLoad(int64_t offset, int words, const GcnOperand& to);

  // wave_vector.cc
  bool ExecVector(const GcnInst& in);
  bool VectorSource(const GcnInst& in, int i, Value* out);   // with SDWA, DPP and modifiers; 32 bits
  bool FloatSource(const GcnInst& in, int i, isa::ScalarType type, Value* out);
  void Nameless(Value* v);
  bool HalfSource(const GcnInst& in, int i, Value* out);
  bool FinishFloat(const GcnInst& in, isa::ScalarType type, Value v);
  bool WriteVector(const GcnInst& in, Value v, int bits = 32);  // with SDWA's destination
  bool Packed32(const GcnInst& in);
  bool Packed16(const GcnInst& in);
  bool FloatOp(expr::Fn fn, isa::ScalarType type, const std::vector<Value>& operands, Value* out, uint64_t flags = 0);
  bool MinMax(bool is_max, isa::ScalarType type, const Value& a, const Value& b, Value* out);
  bool Convert(expr::Fn fn, expr::Format to, expr::Format from, expr::Round round, const Value& v, Value* out);
  bool IsaOp(std::string_view name, int width, std::initializer_list<std::pair<const Value*, int>> operands, Value* out);
  bool Known(const Value& v) const;
  bool DividesIntegers() const;
  bool FoldFloat(const GcnInst& in, bool* done);
  bool ExecCompare(const GcnInst& in);
  bool ExecCndmask(const GcnInst& in);
  bool Field(const Value& v, int low, int bits, bool is_signed, Value* out);
  bool ByteSelect(const GcnInst& in);
  bool Shift(expr::Fn fn, int width, const Value& x, const Value& n, Value* out);
  bool ShiftByLane(expr::Fn fn, int width, const Value& x, const Value& amount, Value* out, bool* done);
  bool HoldsFlip(const Value& v) const;  // some lane's is a negated value
  bool Flip(const Value& v, isa::ScalarType type, bool neg, bool abs, Value* out);
  bool MulHigh(const Value& a, const Value& b, bool is_signed, Value* out);

  // wave_lanes.cc
  // Where lanes read from: -1 nowhere.
  struct LaneSources {
    std::vector<int> of;
    PermId perm = 0;
    MaskId known = kNoLanes;  // lanes that have a source
  };
  LaneSources SourcesOf(std::vector<int> of);
  bool Gather(const Value& v, MaskId defined, const LaneSources& sources, Value* out);
  // Of a control, and which lanes an instruction with it writes if all execute.
  struct DppPlan {
    uint32_t key = 0;  // control, value, masks, bound_ctrl
    LaneSources sources;
    MaskId writes = 0;
  };
  const DppPlan* PlanOf(const GcnInst& in);  // null: no control
  bool DppSources(const GcnInst& in, std::vector<int>* source) const;
  bool DppRead(const GcnInst& in, const GcnOperand& o, Value* out);
  bool ExecDppMask(const GcnInst& in, MaskId* write);
  bool ExecLaneMove(const GcnInst& in);

  // wave_matrix.cc
  struct MatrixForm {
    int m = 0, k = 0, bits = 0;           // rows and columns, products, bits of a factor
    int words = 0, per = 0;               // registers of A or B a lane, and factors in them
    int blocks = 0, results = 0;          // matrices; registers of the accumulator a lane
    int group = 0;                        // products that are added in one step
    expr::Fn fn = expr::Fn::kIsa;         // of a step
    uint64_t attr = 0;
    bool exact = false;                   // sums of integers
    bool products_stay = false;           // none underflows to zero
  };
  bool MatrixFormOf(const GcnInst& in, MatrixForm* form);
  bool MatrixElements(const MatrixForm& form, const std::vector<Value>& registers, std::vector<Lanes>* elements);
  bool MatrixOperand(const MatrixForm& form, const GcnOperand& o, bool rows, std::vector<Lanes>* out);
  bool AddProducts(const MatrixForm& form, const Lanes& row, const Lanes& column, Lanes* acc);
  bool ExecMfma(const GcnInst& in);
  bool IsZero(const Lanes& v) const;           // +0 in all lanes, as a number of any width or a vector of such
  bool IsStepResult(const Lanes& v) const;     // +0 or of a matrix step, in all lanes

  // wave_memory.cc
  bool ExecBuffer(const GcnInst& in);
  bool ExecGlobal(const GcnInst& in);
  bool ExecLds(const GcnInst& in);
  bool LdsExchange(const GcnInst& in);
  bool LoadWords(const Address& a, MaskId inside, uint32_t bytes, bool is_signed, const GcnOperand& to,
                 const Lanes* condition = nullptr);
  bool StoreWords(const Address& a, MaskId inside, uint32_t bytes, bool high_half, const GcnOperand& from);
  bool LoadToLds(const Address& a, int64_t offset);
  bool Land(size_t wave);            // what the wave has waited for
  void IssueVector(const GcnOperand* to);
  void IssueLds(const GcnOperand* to);
  void Pend(std::vector<uint32_t>* pending, const std::vector<uint32_t>& issued, const GcnOperand& to);

  // wave_lds.cc
  const std::vector<uint16_t>& LanesOf(MaskId mask);  // holds until the next call
  // How to read one word: parts from the least significant, each blended from its sources, of which a later one wins in
  // its lanes. It lasts as long as the same writes, or later ones by the same instructions, stand.
  struct LdsPlan {
    struct Source {
      uint32_t record = 0;
      const Lds::Written* written = nullptr;        // null: not to be found again
      uint32_t bytes = 0;                           // that it wrote
      uint16_t offset = 0;                          // into those
      PermId perm = 0;
      MaskId lanes = kAllLanes;
    };
    absl::InlinedVector<Source, 1> sources;
    absl::InlinedVector<uint32_t, 1> part_ends;     // index behind each part's last source
    uint32_t part_bytes = 0;
    bool lasts = true;
  };
  // One place in LDS a lane, which instructions access again and again.
  struct LdsAccess {
    std::vector<uint16_t> lanes;
    std::vector<int64_t> addresses;                 // by lane, checked
    std::array<Lds::Written, 16> written;           // last writes, by their offset in bytes
    std::array<LdsPlan, 4> plans;                   // by word
  };
  // The executing lanes' access of `bytes` bytes. `*out` holds until ForgetLdsAccesses.
  bool LdsAccessAt(const Value& address, uint32_t bytes, LdsAccess** out);
  void ForgetLdsAccesses();          // if there are many
  // `bytes` (at most 4), `at` bytes behind the addresses.
  bool LdsWrite(LdsAccess* access, uint32_t at, uint32_t bytes, const Value& value);
  bool LdsRead(LdsAccess* access, uint32_t at, uint32_t bytes, Value* out);
  bool PlanPart(const LdsAccess& access, uint32_t at, uint32_t bytes, LdsPlan* plan);
  bool PlanRead(const LdsAccess& access, uint32_t at, uint32_t bytes, LdsPlan* plan);
  bool Renew(LdsPlan* plan);
  bool ReadByPlan(const LdsPlan& plan, Lanes* out);
  bool LdsReadLanes(const LdsAccess& access, uint32_t at, uint32_t bytes, Lanes* out);

  const isa::amdgcn::Kernel& kernel_;
  const GcnInst* in_ = nullptr;
  int waves_;
  MaskId wave_ = 0;                // lanes of the waves that execute
  bool exec_is_data_ = false;
  bool fp8_saturates_ = false;
  // Per wave: memory operations issued and known complete, counted from 1. LDS and scalar loads share a counter.
  std::vector<uint32_t> vector_issued_, vector_done_, lds_issued_, lds_done_, scalar_pending_, last_lds_;
  std::vector<uint32_t> pending_vector_, pending_lds_;  // per register and wave: operation that fills it
  std::vector<bool> pends_;        // per register: some wave's operation may not be known complete
  // Loads to LDS that may be under way, of each wave in the order of their issue.
  struct DirectLoad {
    uint32_t issued;                 // as vector_issued_ counts
    MaskId lanes;
    std::vector<int64_t> addresses;  // in LDS, by lane
    Lanes data;
  };
  std::vector<std::vector<DirectLoad>> direct_loads_;
  // Of matrix instructions: sources of a lane's own row in each part of k; of each result's row, and of its column where
  // the instruction has several blocks.
  struct MatrixPerms {
    std::vector<PermId> parts, rows, columns;
  };
  const MatrixPerms& PermsOf(int m, int blocks, int results);
  ShiftMemo matrix_memo_{&nodes_};
  std::map<std::pair<int, int>, MatrixPerms> matrix_perms_;  // by rows and blocks
  Lds lds_;                        // shared_ counts barriers and the waves' instructions for it
  std::vector<std::unique_ptr<DppPlan>> dpp_plans_;
  MaskId lane_list_mask_ = kNoLanes;
  std::vector<uint16_t> lane_list_;
  // By lanes' offsets, constant, executing lanes, bytes.
  absl::flat_hash_map<std::tuple<ArrayId, uint32_t, MaskId, uint32_t>, std::unique_ptr<LdsAccess>> lds_accesses_;
  std::vector<const Lds::Written*> lds_written_;  // in lds_accesses_, by record
};

}  // namespace samebits::symexec

#endif  // SAMEBITS_CORE_SYMEXEC_AMDGCN_WAVE_MACHINE_H_
