#ifndef SAMEBITS_CORE_SYMEXEC_MACHINE_H_
#define SAMEBITS_CORE_SYMEXEC_MACHINE_H_

// Lane-exact symbolic execution of one class of blocks: lanes concrete, memory contents symbolic, block indices a value
// per block of the class. Where a decision differs between blocks the machine stops and asks for a finer class.

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "absl/time/time.h"
#include "core/canonical/builder.h"
#include "core/isa/module.h"
#include "core/symexec/lanes.h"
#include "core/symexec/move_log.h"
#include "core/symexec/shared_memory.h"
#include "core/symexec/tile_memo.h"
#include "core/symexec/value.h"

namespace samebits::symexec {

// One kernel parameter as the launch gives it.
struct ParamBinding {
  enum class Kind : uint8_t { kUnknown, kPointer, kScalar, kBytes };
  Kind kind = Kind::kUnknown;
  expr::BufferId buffer = 0;    // kPointer
  uint64_t bits = 0;            // kScalar
  std::vector<uint8_t> bytes;   // kBytes
};

struct LaunchConfig {
  std::array<uint32_t, 3> block{1, 1, 1};
  // Of an open grid: residues. Block index d is `residues * q + r` with q open; the blocks of a class are values of r.
  std::array<uint32_t, 3> grid{1, 1, 1};
  bool grid_known = true;
  uint32_t dynamic_shared = 0;
  std::vector<ParamBinding> params;
};

struct MachineLimits {
  uint64_t max_steps = 0;          // lane-instructions left
  uint64_t max_memory_bytes = 0;
  absl::Duration deadline = absl::InfiniteDuration();  // of this thread's processor time
  const std::atomic<bool>* cancelled = nullptr;
};

enum class StopKind : uint8_t { kDone, kUnknown, kNondeterministic, kSplit, kRefine };

struct Stop {
  StopKind kind = StopKind::kDone;
  std::string code, reason;
  uint32_t line = 0;
  std::string instruction;
  uint32_t loc_file = 0, loc_line = 0;
  std::vector<uint32_t> group_of_block;  // kSplit: index of the finer class, per block of this one
  std::array<uint32_t, 3> residues{1, 1, 1};  // kRefine: of the open grid
};

// One store instruction's effect: `bits` bits at address in the lanes of `mask`.
struct Store {
  expr::BufferId buffer = 0;
  LaneAnchor address;           // byte offset
  MaskId mask = 0;
  Piece value;
  bool guarded = false;         // `guard` is a data-dependent condition per lane
  Lanes guard;
  bool atomic = false;
  uint32_t block_epoch = 0, order = 0, line = 0;
};

struct Load {
  expr::BufferId buffer = 0;
  LaneAnchor address;
  MaskId mask = 0;
  uint32_t bytes = 0;
  uint32_t block_epoch = 0, order = 0, line = 0;
  bool async = false;           // may happen at any time from here to its wait
  bool guarded = false;         // executed only where `guard` is true
  Lanes guard;
};

// What an open argument counts in byte offsets of the buffer that it steps through.
inline constexpr int64_t kStrideStep = int64_t{1} << 35;

struct Execution {
  Stop stop;
  std::vector<Store> stores;
  std::vector<Load> loads;      // only of buffers that the kernel also stores to
  std::vector<std::string> assumptions;
  std::vector<AtomId> strides;  // per buffer: the open argument that counts as a number in its offsets; 0 none
  uint64_t steps = 0;
  uint64_t memory_bytes() const { return stores.capacity() * sizeof(Store) + loads.capacity() * sizeof(Load); }
};

class Machine {
 public:
  // `blocks`: linear indices of the class. All references outlive the machine.
  Machine(const isa::Module& module, uint32_t entry, const LaunchConfig& launch, const std::vector<uint32_t>& blocks,
          canonical::Builder* builder, LaneSpace* space, SymbolicSpace* symbolic, const MachineLimits& limits);
  virtual ~Machine() = default;
  Execution Run();
  // Keeps moves between lanes in `log`, which outlives Run. Results are the same.
  void set_move_log(MoveLog* log) { moves_ = log; }

 protected:
  // Seams for an executor of another instruction set (amdgcn/): it shares control flow, values and memory.
  virtual bool Setup();
  virtual bool Begin() { return true; }  // registers exist and hold nothing
  struct Fiber;
  virtual bool Step(std::vector<Fiber>& fibers, size_t which);
  virtual uint64_t OwnMemory() const { return 0; }  // bytes beside those of this class

  struct Frame {
    uint32_t function = 0;
    uint32_t first_register = 0;
    uint32_t return_pc = 0;
    const isa::Instruction* call = nullptr;
    uint32_t serial = 0;  // of this activation
  };
  struct Fiber {
    MaskId mask = 0;
    uint32_t pc = 0;
    bool at_barrier = false;
    std::vector<Frame> frames;
  };
  using Inst = isa::Instruction;
  using Operand = isa::Operand;

  // machine.cc: control.
  bool RunFibers(std::vector<Fiber>& fibers, uint32_t stop_pc, size_t stop_depth);
  bool Branch(std::vector<Fiber>& fibers, size_t which, const Inst& in);
  bool BranchOnData(std::vector<Fiber>& fibers, size_t which, const Inst& in, const Lanes& condition);
  bool Call(Fiber& fiber, const Inst& in);
  bool Return(std::vector<Fiber>& fibers, size_t which);
  bool ReleaseBarriers(std::vector<Fiber>& fibers);
  uint32_t Postdominator(uint32_t function, uint32_t pc);
  bool Execute(const Inst& in);
  bool ExecuteGuarded(const Inst& in, const Lanes& guard, bool negated);

  // Stops.
  bool Unknown(std::string_view code, std::string reason);
  // open_reason.cc. What a value hangs on.
  struct Openness {
    bool data = false, grid = false;  // data: memory, registers that were never written, or what was not looked at
    std::set<size_t> arguments;
  };
  void FindOpenAtom(AtomId id, int depth, Openness* found) const;
  void FindOpenTerms(SymbolicId id, Openness* found) const;
  void FindOpenLeaves(expr::NodeId root, std::unordered_set<expr::NodeId>* seen, Openness* found) const;
  void FindOpen(const Lanes& v, Openness* found) const;
  void FindOpen(uint32_t reg, bool integers, Openness* found) const;
  Openness FindOpenHere(std::string_view code) const;
  // Names arguments and grid in a reason that speaks of data or open sizes. OPEN_ARGUMENT: it hangs on nothing else.
  void NameWhatIsOpen(Stop* stop) const;
  bool Race(std::string reason);
  bool Conflict(SharedMemory::Race race);
  bool Split(std::vector<uint32_t> group_of_block);
  bool Unmodelled(const Inst& in);
  bool OutOfAnchors();
  void Assume(std::string_view what);  // a condition of the result, kept once
  bool CheckMods(const Inst& in, std::initializer_list<isa::ptx::Mod> allowed);
  bool CheckBudget();

  // operands.cc: registers and operands.
  // A label, which no instruction takes as data, where the instruction has fewer operands.
  const Operand& Op(const Inst& in, int i) const {
    static const Operand missing = [] {
      Operand o;
      o.kind = isa::OperandKind::kLabel;
      return o;
    }();
    return static_cast<uint32_t>(i) < in.operand_count ? function_->operand_pool[in.first_operand + i] : missing;
  }
  const Operand& Element(const Operand& v, int i) const { return function_->operand_pool[v.first + i]; }
  bool Get(const Operand& op, int width, bool is_float, Value* out);
  bool GetRegister(uint32_t reg, Value* out);
  bool Set(const Operand& op, Value value);
  bool SetRegister(uint32_t reg, Value value);
  int RegisterWidth(uint32_t reg) const { return isa::BitWidth(function_->registers[reg].type); }
  bool GetMany(const Operand& op, int width, std::vector<Value>* out);
  bool SetMany(const Operand& op, std::vector<Value> values);
  bool SymbolAddress(uint32_t symbol, int64_t offset, int width, Value* out);
  bool SpecialRegister(isa::Special special, int width, Value* out);
  bool Blend(MaskId mask, const Value& a, const Value& b, Value* out);
  bool ToLanes(const Value& v, int width, Lanes* out);
  bool ToPieces(const Value& v, int width, absl::InlinedVector<Piece, 4>* out);
  void FromPieces(absl::InlinedVector<Piece, 4> pieces, int width, Value* out);
  // A word read from memory: two packed halves, in some lane, stay apart.
  bool FromWord(Lanes word, int width, Value* out);
  bool Slice(const Value& v, int offset, int width, Value* out);
  bool Concat(const std::vector<Value>& parts, Value* out);
  bool AsInt(Value* v);
  bool AsPredicate(const Value& v, MaskId* known, Lanes* condition, bool* is_known);
  MaskId exec() const { return exec_; }

  // integer.cc
  struct Interval {
    __int128 lo, hi;
  };
  Interval RangeOf(const Value& v) const;
  bool Actual(Value* v, int width, bool is_signed);
  bool WrapLanes(Value* v, int width, bool is_signed);
  bool Pointwise(const Value& a, const Value& b, int width, const std::function<int64_t(int64_t, int64_t)>& op, Value* out);
  // The same; lanes' results are remembered under `fn` and the width, which say what `op` is.
  template <typename Op>
  bool Pointwise(expr::Fn fn, const Value& a, const Value& b, int width, Op op, Value* out) {
    if ((a.array == 0 && b.array == 0) || a.symbolic != 0 || b.symbolic != 0) return Pointwise(a, b, width, op, out);
    const auto o = space_.Combine(static_cast<uint32_t>(fn) | static_cast<uint32_t>(width) << 8, a.array, a.constant, b.array, b.constant, op);
    *out = Value::Int(o.constant, width);
    out->array = o.id;
    return true;
  }
  bool PerBlock(const std::function<int64_t(int, size_t)>& f, int width, Value* out);
  bool IntAdd(const Value& a, const Value& b, int width, Value* out);
  bool IntNeg(const Value& a, int width, Value* out);
  bool IntMul(const Value& a, const Value& b, int width, Value* out);
  bool IntBitwise(expr::Fn fn, const Value& a, const Value& b, int width, Value* out);
  bool DataShift(expr::Fn fn, int width, const Value& x, const Value& n, Value* out);
  bool IntShift(expr::Fn fn, const Value& a, const Value& b, int width, Value* out);
  bool IntDivide(bool remainder, const Value& a, const Value& b, int width, bool is_signed, Value* out);
  bool IntMinMax(bool is_max, const Value& a, const Value& b, int width, bool is_signed, Value* out);
  bool IntCompare(expr::Compare compare, const Value& a, const Value& b, int width, bool is_signed, Value* out);
  bool WidenInt(Value* v, int from, bool is_signed, int to);

  // open_integer.cc: integers of an open grid. kNone: no closed form.
  enum class Closed : uint8_t { kDone, kNone, kStop };
  bool IsOpen(const Value& a, const Value& b) const;
  bool OverflowsOnPurpose(const Value& v, int64_t shift, int width) const;
  bool SplitResidues(SymbolicId a, SymbolicId b, bool* split);
  Closed OpenModulo(const Value& v, int64_t modulus, int width, Value* low);
  Closed OpenQuotient(const Value& v, int64_t divisor, int width, Value* out);
  Closed OpenBitwise(expr::Fn fn, const Value& a, const Value& b, int width, Value* out);
  Closed OpenShift(expr::Fn fn, const Value& a, const Value& b, int width, Value* out);
  Closed OpenDivide(bool remainder, const Value& a, const Value& b, int width, bool is_signed, Value* out);
  Closed OpaqueDivide(bool remainder, const Value& x, const Value& y, int width, Interval range, Value* out);
  Closed OpenMinMax(bool is_max, const Value& a, const Value& b, int width, bool is_signed, Value* out);
  Closed OpenMultiply(const Value& a, const Value& b, int width, Value* out);
  Closed OpenCompare(expr::Compare compare, const Value& a, const Value& b, int width, bool is_signed, Value* out);
  void ToGuardUnits(Value* distance);
  bool Derived(Value* v, Interval range);
  bool LaneProduct(ArrayId array, AtomId of, SymbolicId* out);
  AtomId ProductAtom(std::vector<AtomId> factors);
  LaneAnchor AnchorOf(const Value& v);

  // loop_fold.cc
  // One accumulator of a loop: what stands for its value, its next value, its value before the loop.
  struct LoopMember {
    Lanes hole, step, first;
    uint8_t width = 0;
  };
  // Bits of Atom::dimensions: the trips of the loop at a depth; groups of trips of a ring.
  static constexpr uint32_t kFirstLoopBit = 8, kRingBit = 24;
  void FindHoleBuffer();
  ArrayId LaneNumbers();
  AtomId TripCounter(uint64_t kind, uint32_t bit);
  // loop_ring.cc
  struct RingState;
  struct Ring;
  bool CopiesBetween(uint32_t from, uint32_t to) const;
  bool FoldRing(std::vector<Fiber>& fibers, size_t which, const Inst& in, const Lanes& condition);
  RingState CaptureRing() const;
  void RestoreRing(const RingState& state);
  bool RunTrip(Ring* ring, const Lanes& condition, std::vector<Lanes>* steps, Lanes* go_on);
  bool ProveRing(Ring* ring, size_t period);
  bool AlongRing(const Ring& ring, const expr::Scalar& here, const expr::Scalar& later, bool next, expr::Scalar* out);
  bool AlongRing(const Ring& ring, const Lanes& here, const Lanes& later, bool next, Lanes* out);
  bool AlongRing(const Ring& ring, const Value& here, const Value& later, bool next, Value* out);
  bool InTrips(const Ring& ring, const std::vector<Lanes>& actual, const std::vector<Lanes>& general, Lanes* out);
  std::vector<uint32_t> RegisterOrder() const;
  bool AllCommitted() const;
  bool FinishRing(Ring* ring, const Lanes& go_on, const std::vector<Lanes>& steps);
  bool HoldsState(const expr::Scalar& s) const;
  bool FoldLoop(std::vector<Fiber>& fibers, size_t which, const Inst& in, const Lanes& condition);
  struct Undo;
  bool RunLoopBody(const Fiber& fiber, const Inst& in, bool lockstep, std::vector<Undo>* log, Lanes* go_on);
  // All lanes of the block run the same instructions here: no data-dependent branch is open, but perhaps a loop that
  // all lanes leave together.
  bool Lockstep() const { return data_depth_ == 0 || data_depth_ == lockstep_depth_; }
  bool Advance(const Value& step, SymbolicId iteration, Value* v);
  bool TakeIteration(uint32_t bit, AtomId iteration, WordHasher* h, expr::Anchor* anchor);
  bool FoldValue(const std::vector<LoopMember>& members, const Lanes& go_on, const Lanes& result, int width,
                 uint32_t bit, AtomId iteration, Lanes* out);
  bool HolesUnshifted(expr::NodeId root);
  bool SharedByLanes(const Lanes& v) const;
  bool Negate(Lanes* condition);
  Lanes HoleOf(size_t index, ArrayId own_lane);
  void Undefine(uint32_t index);
  void ForgetShared();
  std::vector<bool> HolesIn(const Lanes& v, const std::vector<LoopMember>& members) const;
  bool Decompose(const Value& v, int bits, Value* low, Value* high);
  bool DataBinary(expr::Fn fn, uint64_t attr, int width, const Value& a, const Value& b, Value* out);
  bool DataUnary(expr::Fn fn, uint64_t attr, int from_width, int width, const Value& a, Value* out);
  bool Generic(const Inst& in, int result_width, std::initializer_list<int> operand_widths);

  // exec_integer.cc, exec_float.cc, exec_memory.cc, exec_warp.cc, exec_matrix.cc: instruction families.
  bool ExecInteger(const Inst& in);
  bool ExecBits(const Inst& in);
  bool ExecMove(const Inst& in);
  bool MoveInFlight(const Inst& in, int width);
  bool ExecConvert(const Inst& in);
  bool ExecSetp(const Inst& in);
  bool ExecSelp(const Inst& in);
  bool ExecPredicateLogic(const Inst& in);
  bool ExecFloat(const Inst& in);
  bool ConvertFloat(const Inst& in, isa::ScalarType to, isa::ScalarType from);
  bool FloatApply(expr::Fn fn, expr::Attr attr, isa::ScalarType type, const std::vector<Value>& operands, Value* out);
  bool ExecLoad(const Inst& in);
  bool ExecStore(const Inst& in);
  bool ExecAtomic(const Inst& in);
  bool ExecCopyAsync(const Inst& in);
  bool ExecLdmatrix(const Inst& in);
  bool ExecStmatrix(const Inst& in);
  bool ExecWarp(const Inst& in);
  bool ExecShfl(const Inst& in);
  bool ExecVote(const Inst& in);
  bool ExecRedux(const Inst& in);
  bool ExecMma(const Inst& in);
  bool ExecWgmma(const Inst& in);
  bool ExecWmma(const Inst& in);
  bool ExecSync(const Inst& in);

  // Memory helpers.
  struct Address {
    isa::StateSpace space = isa::StateSpace::kGlobal;
    Value value;       // integer, or data-dependent bits; relative to `buffer` for global
    expr::BufferId buffer = 0;
  };
  // open_address.cc
  AtomId StrideOf(expr::BufferId buffer, SymbolicId address);
  // The byte offset into a global buffer as an anchor.
  bool PlaceAddress(const Address& a, int64_t offset, LaneAnchor* out);
  bool ResolveAddress(const Inst& in, const Operand& op, isa::StateSpace space, Address* out);
  isa::StateSpace SpaceOf(const Inst& in) const;
  bool CheckAligned(const Address& a, uint32_t bytes, MaskId mask);
  bool LaneAddresses(const Value& v, uint32_t bytes, uint32_t size, std::string_view what, std::vector<int64_t>* out);
  bool SharedRead(const std::vector<int64_t>& addresses, uint32_t bytes, MaskId mask, Value* out);
  bool SharedWrite(const std::vector<int64_t>& addresses, uint32_t bytes, MaskId mask, const Value& value,
                   uint32_t async_group_of_lane);
  bool Guarded(uint32_t guard, int bits, expr::Scalar* value);
  int Decided(const expr::Scalar& condition) const;
  bool SizeConditions(expr::Scalar size, uint32_t bytes, std::vector<expr::Scalar>* conditions, bool* full);
  bool CopyGuarded(const Value& size, const Address& from, const std::vector<int64_t>& addresses, uint32_t bytes);
  bool FragmentsToScalar(const std::vector<SharedMemory::Fragment>& fragments, uint32_t bytes, expr::Scalar* out);
  bool LocalRead(const Value& address, uint32_t bytes, Value* out);
  bool LocalWrite(const Value& address, uint32_t bytes, const Value& value);
  bool GlobalLoad(const Address& a, int64_t offset, uint32_t bytes, Value* out);
  bool SplitConcats(absl::InlinedVector<Piece, 4>* pieces);
  bool HoldsUndef(const Lanes& v) const;
  bool GlobalStore(const Address& a, int64_t offset, uint32_t bytes, const Value& value, bool atomic);
  bool WarpsAreFull(MaskId mask) const;
  void LogShuffle(const Lanes& arrived, MaskId mask, const std::vector<uint16_t>& source);
  struct MatrixArithmetic;
  bool FindArithmetic(const Inst& in, bool warpgroup, MatrixArithmetic* out);
  bool MatrixStep(uint64_t unit, const Lanes& acc, const Lanes& a, const Lanes& b, Lanes* out);
  // One wgmma (exec_wgmma.cc).
  struct WgmmaForm;
  struct SharedTile;
  struct TileRow;
  bool WgmmaScales(const Inst& in, WgmmaForm* form);
  bool WgmmaRowsFromRegisters(const Inst& in, const WgmmaForm& form, std::vector<Lanes>* rows);
  bool WgmmaRowsFromShared(const Inst& in, const WgmmaForm& form, std::vector<Lanes>* rows);
  bool WgmmaColumns(const Inst& in, const WgmmaForm& form, std::vector<Lanes>* columns);
  bool WgmmaAccumulate(const Inst& in, const WgmmaForm& form, const std::vector<Lanes>& rows,
                       const std::vector<Lanes>& columns);
  bool ReadTile(const Value& descriptor, bool transposed, const WgmmaForm& form, int warpgroup, int rows, SharedTile* out);
  bool TileForm(const std::vector<const SharedTile*>& tiles, bool rows, const WgmmaForm& form, TileMemo::Form* out);
  Lanes MemoryLanes(const StoredScalar& first, ArrayId likely);
  bool ContinuesMemory(const StoredScalar& value, const StoredScalar** memory) const;
  bool MemoryColumn(const std::vector<TileRow>& rows, int k, int bytes, ArrayId likely, Lanes* out);
  bool TileColumn(const std::vector<TileRow>& rows, int k, int bits, Lanes* out);
  bool TileVectors(const std::vector<TileRow>& rows, const WgmmaForm& form, std::vector<Lanes>* steps);
  bool Descriptor(const Inst& in, int operand, Value* out);
  // Lane l sees lane base + 2 * (l % 4): the columns of an accumulator.
  PermId ColumnPerm(int base);

  const isa::Module& module_;
  uint32_t entry_;
  const LaunchConfig& launch_;
  const std::vector<uint32_t>& blocks_;
  canonical::Builder& builder_;
  expr::NodeManager& nodes_;
  LaneSpace& space_;
  SymbolicSpace& symbolic_;
  VectorOps ops_;
  MachineLimits limits_;
  Execution result_;
  MoveLog* moves_ = nullptr;

  const isa::Function* function_ = nullptr;
  const Inst* current_ = nullptr;
  uint32_t first_register_ = 0;
  MaskId exec_ = 0;
  bool guarded_store_ = false;
  Lanes store_guard_;
  const Lanes* load_guard_ = nullptr;
  std::vector<Value> registers_;
  std::vector<MaskId> defined_;
  // Per register and warpgroup: last matrix group that writes it, and that reads it as operand A; 0 none.
  std::vector<uint32_t> in_flight_, matrix_sources_;
  // Per register and warpgroup: 1 + the fences that the warpgroup had passed when another instruction wrote it; 0 none.
  std::vector<uint32_t> unfenced_, matrix_fences_;
  bool has_wgmma_ = false;
  std::vector<PermId> column_perms_;  // by base, 1 + id; 0 not made yet
  std::vector<int64_t> tile_offsets_;
  TileMemo tile_memo_;
  std::string UnfencedText(uint32_t reg) const;
  bool Fenced(uint32_t r, const std::vector<int>& groups) const;
  bool InFlight(const std::vector<uint32_t>& last, uint32_t r, MaskId lanes) const;
  struct Undo {
    uint32_t reg;
    Value value;
    MaskId defined;
  };
  std::vector<Undo>* log_ = nullptr;     // writes of a data-dependent side
  // Per register, in the first trip of a ring: 1 read before it was written, 2 written first; else 0.
  std::vector<uint8_t>* first_use_ = nullptr;
  std::unordered_set<expr::NodeId> unshifted_;
  expr::BufferId hole_buffer_ = 0;       // of values that stand for a loop's state
  uint32_t first_pc_ = 0;                // of the entry
  int data_depth_ = 0;
  std::vector<const Lanes*> decisions_;  // conditions of the data-dependent branches around, outermost first
  bool in_ring_ = false;                 // in a trip of FoldRing: copies and warpgroup instructions are allowed
  int lockstep_depth_ = 0;               // depth of the innermost such loop's body; 0: none

  SharedMemory shared_;
  std::vector<int64_t> shared_base_;     // per symbol, -1 where not shared
  std::vector<int64_t> local_base_;
  uint32_t shared_bytes_ = 0, local_bytes_ = 0;
  std::unique_ptr<SharedMemory> local_;  // lanes * local_bytes_, unordered
  using ParamKey = std::tuple<uint32_t, uint32_t, int64_t>;  // activation, symbol, offset
  bool SetParam(const ParamKey& key, Value value);
  std::map<ParamKey, Value> params_;
  std::vector<ParamKey>* param_log_ = nullptr;  // writes of a data-dependent side
  std::vector<bool> stored_buffers_, loaded_buffers_;
  std::vector<std::array<Value, 3>> tid_;
  std::unordered_map<uint64_t, uint32_t> postdominators_;
  std::unordered_map<uint32_t, std::vector<uint32_t>> branch_targets_;
  uint32_t order_ = 0, serial_ = 0, steps_since_check_ = 0;
  uint32_t current_serial_ = 0;
  bool has_exit_ = false;
  bool matrix_in_use_ = false;  // some warpgroup has issued a matrix instruction
};

// Equal in every lane, and by form.
bool SameValue(const Value& a, const Value& b);

}  // namespace samebits::symexec

#endif  // SAMEBITS_CORE_SYMEXEC_MACHINE_H_
