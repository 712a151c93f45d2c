#ifndef SAMEBITS_CORE_INTERPRETER_AMDGCN_WAVE_H_
#define SAMEBITS_CORE_INTERPRETER_AMDGCN_WAVE_H_

// One wave of the AMDGCN interpreter.

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/interpreter/memory.h"
#include "core/isa/amdgcn/program.h"

namespace samebits::interpreter::amdgcn {

using isa::amdgcn::Instruction;
using isa::amdgcn::Operand;

// What the waves of one block share.
struct Block {
  const isa::amdgcn::Kernel* kernel = nullptr;
  std::string_view target;
  Memory* memory = nullptr;
  std::vector<uint8_t> lds;
  std::vector<uint8_t> kernarg;
  std::vector<bool> unknown_kernarg;  // its bytes that only a runtime knows
  uint64_t steps = 0, max_steps = 0, model_results = 0;
};

inline constexpr uint64_t kKernargAddress = 0x600000000000;

class Wave {
 public:
  enum class State : uint8_t { kRuns, kAtBarrier, kEnded };
  static constexpr int kLanes = isa::amdgcn::kWaveLanes;

  // `lanes` of the 64 exist.
  Wave(Block* block, int lanes);

  // Runs to the next barrier or the end.
  absl::Status Run();
  State state() const { return state_; }
  void PassBarrier() { state_ = State::kRuns; }
  void set_pc(uint32_t pc) { pc_ = pc; }
  uint32_t& Scalar(int reg) { return scalar_[static_cast<size_t>(reg)]; }
  uint32_t& Vector(int reg, int lane) { return vector_[static_cast<size_t>(reg) * kLanes + static_cast<size_t>(lane)]; }

 private:
  absl::Status Fail(absl::StatusCode code, std::string what) const;
  absl::Status Step(const Instruction& in);
  absl::Status ScalarOp(const Instruction& in);
  absl::Status VectorOp(const Instruction& in);
  absl::Status LaneOp(const Instruction& in);
  absl::Status MemoryOp(const Instruction& in);
  absl::Status LdsOp(const Instruction& in);
  absl::Status MatrixOp(const Instruction& in);
  absl::Status Access(const Instruction& in, uint64_t address, int lane, bool inside);
  bool Arithmetic(const Instruction& in, int lane, bool* known);

  uint64_t exec() const { return static_cast<uint64_t>(exec_hi_) << 32 | exec_lo_; }
  void set_exec(uint64_t v) { exec_lo_ = static_cast<uint32_t>(v), exec_hi_ = static_cast<uint32_t>(v >> 32); }
  uint32_t Get(uint16_t reg, int lane) const;
  void Put(uint16_t reg, int lane, uint32_t value);
  // Raw word of source i for a lane: DPP, SDWA and register or constant, no float modifiers.
  uint32_t Word(const Instruction& in, int source, int lane);
  uint64_t Wide(const Operand& o, int lane, bool is_f64) const;
  uint32_t F32(const Instruction& in, int source, int lane);
  uint32_t F16(const Instruction& in, int source, int lane);
  uint64_t F64(const Instruction& in, int source, int lane);
  uint32_t Modified(const Operand& o, uint32_t bits, int width) const;
  void Result(const Instruction& in, int lane, uint32_t value);
  void Result16(const Instruction& in, int lane, uint32_t value);
  int DppSource(const Instruction& in, int lane) const;  // -1: none
  bool DppWrites(const Instruction& in, int lane) const;
  uint64_t Mask(const Operand& o) const;
  void SetMask(const Operand& o, uint64_t v);

  Block& block_;
  uint32_t pc_ = 0;
  State state_ = State::kRuns;
  bool scc_ = false, overflow16_ = false;
  uint64_t live_;
  uint32_t exec_lo_ = 0, exec_hi_ = 0;
  std::array<uint32_t, 128> scalar_{};
  std::vector<uint32_t> vector_;  // 512 registers of 64 lanes, AGPRs last
  uint64_t mask_result_ = 0;      // of the vector instruction at hand: carries or flags, lane by lane
  std::vector<uint32_t> dpp_;     // first source of every lane before a DPP instruction
};

}  // namespace samebits::interpreter::amdgcn

#endif  // SAMEBITS_CORE_INTERPRETER_AMDGCN_WAVE_H_
