#include <algorithm>

#include "core/interpreter/block.h"

namespace samebits::interpreter {
namespace {

constexpr uint32_t kBarrierCount = 16;

bool Reduces(Op op) { return op == Op::kBarRed || op == Op::kBarrierRed; }
bool OnlyArrives(Op op) { return op == Op::kBarArrive || op == Op::kBarrierArrive; }

}  // namespace

uint32_t Block::LiveThreads() const {
  return static_cast<uint32_t>(std::count_if(
      threads_.begin(), threads_.end(), [](const Thread& thread) { return thread.state != Thread::State::kExited; }));
}

void Block::ArriveAtBarrier(const Site& site) {
  const Op op = site.instruction.op;
  const size_t first = Reduces(op) ? 1 : 0;
  // bar.red d, a{, b}, c: the thread count is there only with four operands.
  const bool has_count = Reduces(op) ? site.operands.size() == 4 : site.operands.size() > 1;
  const uint64_t id = site.operands.empty() ? 0 : Read(site, site.operand(first), ScalarType::kU32);
  if (id >= kBarrierCount) return Fail(site, absl::StatusCode::kOutOfRange, "barrier number above 15");
  barriers_.resize(kBarrierCount);
  Barrier& barrier = barriers_[id];
  ++barrier.arrived;
  if (has_count) barrier.expected = static_cast<uint32_t>(Read(site, site.operand(first + 1), ScalarType::kU32));
  if (Reduces(op)) {
    const bool value = ReadPredicate(site, site.operands.back());
    barrier.all &= value;
    barrier.any |= value;
    barrier.count += value;
  }
  if (OnlyArrives(op)) return;
  --site.thread.frame().pc;  // stays at the barrier until it completes
  site.thread.barrier = static_cast<uint32_t>(id);
  site.thread.state = Thread::State::kAtBarrier;
}

void Block::CompleteBarriers() {
  for (uint32_t id = 0; id < barriers_.size(); ++id) {
    const Barrier& barrier = barriers_[id];
    const uint32_t needed = barrier.expected != 0 ? barrier.expected : LiveThreads();
    if (barrier.arrived != 0 && barrier.arrived >= needed) Release(id);
  }
}

void Block::Release(uint32_t id) {
  const Barrier barrier = barriers_[id];
  barriers_[id] = Barrier();
  for (Thread& thread : threads_) {
    if (thread.state != Thread::State::kAtBarrier || thread.barrier != id) continue;
    const Site site = At(thread);
    if (Reduces(site.instruction.op)) {
      if (site.Has(Mod::kPopc)) {
        Write(site, site.operand(0), barrier.count, ScalarType::kU32);
      } else {
        WritePredicates(site, site.operand(0), (site.Has(Mod::kAnd) ? barrier.all : barrier.any) != 0, false);
      }
    }
    ++thread.frame().pc;
    thread.state = Thread::State::kReady;
  }
}

}  // namespace samebits::interpreter
