#ifndef SAMEBITS_CORE_INTERPRETER_BLOCK_H_
#define SAMEBITS_CORE_INTERPRETER_BLOCK_H_

// One block (CTA) in execution. The methods are spread over the files that their headings name.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "core/isa/module.h"
#include "core/softfloat/arithmetic.h"
#include "core/softfloat/matrix_unit.h"
#include "core/interpreter/program.h"

namespace samebits::interpreter {

using isa::Instruction;
using isa::Operand;
using isa::ScalarType;
using isa::StateSpace;
using isa::ptx::Mod;
using isa::ptx::Op;

// How values of a data type are made up: `count` elements of `bits` each, floating-point where `format` is set.
struct TypeShape {
  const softfloat::Format* format = nullptr;
  int bits = 0;
  int count = 1;
  bool is_signed = false;
};
TypeShape ShapeOf(ScalarType type);

// An activation of a function.
struct Frame {
  uint32_t function = 0;
  uint32_t pc = 0;
  uint32_t local_base = 0;          // in Thread::local
  std::vector<uint64_t> registers;  // patterns, zero above the register's width
  std::vector<uint8_t> params;
};

struct Thread {
  enum class State : uint8_t {
    kReady,
    kAtCollective,  // at an instruction of its warp or warpgroup
    kAtBarrier,
    kExited,
  };
  State state = State::kReady;
  bool carry = false;  // CC.CF
  uint32_t mask = 0;   // lanes that the collective instruction needs
  uint32_t barrier = 0;
  uint32_t index = 0;  // in the block
  std::array<uint32_t, 3> tid{};
  std::vector<Frame> stack;
  std::vector<uint8_t> local;

  Frame& frame() { return stack.back(); }
  uint32_t lane() const { return index % 32; }
};

// A thread at an instruction.
struct Site {
  Thread& thread;
  const isa::Function& function;
  const Instruction& instruction;
  std::span<const Operand> operands;

  bool Has(Mod mod) const { return instruction.Has(mod); }
  const Operand& operand(size_t i) const;  // a sink where there are fewer
  ScalarType type(int i = 0) const { return instruction.type(i); }
};

class Block {
 public:
  Block(const Program& program, Memory& memory, Dim3 index, RunResult& result);

  absl::Status Run();

 private:
  // block.cc: scheduling.
  void RunThread(Thread& thread);
  void Step(Thread& thread);
  bool RunCollectives();
  bool RunCollective(uint32_t first);
  Site At(Thread& thread);
  void Fail(const Site& site, absl::StatusCode code, std::string_view what);
  void Unimplemented(const Site& site, std::string_view what = "instruction is not modelled");
  std::string_view TextOf(const Site& site) const { return site.instruction.name; }

  // barrier.cc
  struct Barrier {
    uint32_t arrived = 0, expected = 0, all = 1, any = 0, count = 0;
  };
  void ArriveAtBarrier(const Site& site);
  void CompleteBarriers();
  void Release(uint32_t id);
  uint32_t LiveThreads() const;

  // operands.cc
  uint64_t Read(const Site& site, const Operand& operand, ScalarType type);
  uint64_t Read(const Site& site, const Operand& operand, int bits);
  bool ReadPredicate(const Site& site, const Operand& operand);
  void Write(const Site& site, const Operand& operand, uint64_t value, ScalarType type);
  void WriteBits(const Site& site, uint32_t reg, uint64_t value);
  void WritePredicates(const Site& site, const Operand& operand, bool first, bool second);
  std::span<const Operand> Elements(const Site& site, const Operand& operand) const;
  uint64_t ReadImmediate(const Operand& operand, ScalarType type);
  uint64_t ReadSpecial(const Site& site, isa::Special special);
  uint64_t ReadSymbol(const Site& site, const Operand& operand);
  int RegisterBits(const Site& site, uint32_t reg) const;

  // execute.cc: dispatch, control flow, moves.
  void Execute(const Site& site);
  bool ExecuteControl(const Site& site);
  void Branch(const Site& site, const Operand& label);
  void BranchIndexed(const Site& site);
  void Call(const Site& site);
  void Return(const Site& site);
  void Mov(const Site& site);
  void PushFrame(Thread& thread, uint32_t function);

  // integer.cc
  bool ExecuteInteger(const Site& site);
  void Bitwise(const Site& site);
  void Shift(const Site& site);
  void Lop3(const Site& site);
  void Prmt(const Site& site);
  void FunnelShift(const Site& site);
  void BitField(const Site& site);
  void BitScan(const Site& site);
  void DotProduct(const Site& site);
  void WideMultiply(const Site& site, bool add);
  void CarryArithmetic(const Site& site);
  void Multiply24(const Site& site, bool add);
  void Sad(const Site& site);
  void CvtPack(const Site& site);

  // arithmetic.cc: typed element-wise operations, comparisons.
  bool ExecuteArithmetic(const Site& site);
  void Elementwise(const Site& site);
  uint64_t FloatElement(const Site& site, const softfloat::Format& format, uint64_t a, uint64_t b, uint64_t c);
  uint64_t IntegerElement(const Site& site, const TypeShape& shape, uint64_t a, uint64_t b, uint64_t c);
  uint64_t Approximate(const Site& site, const softfloat::Format& format, uint64_t a, uint64_t b);
  void Compare(const Site& site);
  bool CompareElement(const Site& site, const TypeShape& shape, uint64_t a, uint64_t b);
  void Select(const Site& site);
  void TestProperty(const Site& site);

  // convert.cc
  void Convert(const Site& site);
  uint64_t ConvertElement(const Site& site, const TypeShape& to, const TypeShape& from, uint64_t bits);

  // access.cc: addresses, loads, stores, atomics, copies.
  bool ExecuteMemory(const Site& site);
  StateSpace SpaceOf(const Site& site) const;
  uint64_t Address(const Site& site, const Operand& operand);
  uint8_t* Locate(const Site& site, StateSpace space, uint64_t address, uint32_t bytes, bool write);
  uint64_t LoadBits(const Site& site, StateSpace space, uint64_t address, uint32_t bytes);
  void StoreBits(const Site& site, StateSpace space, uint64_t address, uint32_t bytes, uint64_t value);
  void Load(const Site& site);
  void Store(const Site& site);
  void Atomic(const Site& site);
  uint64_t AtomicElement(const Site& site, StateSpace space, uint64_t old, uint64_t b, uint64_t c);
  void CopyAsync(const Site& site);
  void ConvertAddress(const Site& site);
  void IsSpace(const Site& site);

  // warp.cc: instructions of a warp. `lanes` are the participants, in ascending order.
  using Lanes = std::span<Thread* const>;
  static bool IsCollective(Op op);
  static bool NeedsWarpgroup(Op op) { return op == Op::kWgmmaMmaAsync; }
  uint32_t MemberMask(const Site& site);
  void ExecuteCollective(Lanes lanes);
  void Shuffle(Lanes lanes);
  void Vote(Lanes lanes);
  void Match(Lanes lanes);
  void Reduce(Lanes lanes);
  void Elect(Lanes lanes);
  void LoadMatrix(Lanes lanes);
  void StoreMatrix(Lanes lanes);
  void TransposeMatrix(Lanes lanes);

  // matrix.cc: mma and wmma; wgmma.cc.
  struct Tile {  // rows x columns of patterns
    int rows = 0, columns = 0;
    std::vector<uint64_t> values;
    uint64_t& at(int row, int column) { return values[static_cast<size_t>(row) * columns + column]; }
  };
  void Mma(Lanes lanes);
  void WmmaLoad(Lanes lanes);
  void WmmaStore(Lanes lanes);
  void WmmaMma(Lanes lanes);
  void Wgmma(Lanes lanes);
  // d = a * b + c; b is given by columns (n x k). False where the unit is not modelled.
  bool Multiply(const Site& site, softfloat::MatrixInstruction instruction, ScalarType a_type, ScalarType b_type,
                ScalarType c_type, ScalarType d_type, Tile& a, Tile& b_columns, Tile& c);
  Tile ReadShared(const Site& site, uint64_t descriptor, int rows, int k, int element_bytes, bool k_major);

  const Program& program_;
  Memory& memory_;
  const Dim3 index_;
  RunResult& result_;
  absl::Status status_;
  std::vector<uint8_t> shared_;  // from address 0
  std::vector<Thread> threads_;
  std::vector<Barrier> barriers_;
};

// Whether lane `lane` of a warp takes part.
inline bool InMask(uint32_t mask, uint32_t lane) { return (mask >> lane & 1) != 0; }

inline uint64_t LowMask(int bits) { return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1; }

inline int64_t SignExtend(uint64_t value, int bits) {
  return bits >= 64 ? static_cast<int64_t>(value) : static_cast<int64_t>(value << (64 - bits)) >> (64 - bits);
}

}  // namespace samebits::interpreter

#endif  // SAMEBITS_CORE_INTERPRETER_BLOCK_H_
