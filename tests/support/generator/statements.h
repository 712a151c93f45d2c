#ifndef SAMEBITS_TESTS_SUPPORT_GENERATOR_STATEMENTS_H_
#define SAMEBITS_TESTS_SUPPORT_GENERATOR_STATEMENTS_H_

// Statements without control flow: arithmetic, memory and warp-wide instructions, on the registers that the kernel's
// frame sets up (generator.cc).

#include <string>

#include "tests/support/generator/writer.h"

namespace samebits::generator {

// Bytes of each buffer that one thread owns.
inline constexpr int kInputStride = 64, kPlaceStride = 16, kOutputStride = 256, kDoubleStride = 16;
inline constexpr int kScatterSlabs = 4;  // of the buffer "scatter": a word a thread and slab, each slab a permutation

class StatementMaker {
 protected:
  StatementMaker(uint64_t seed, const GeneratorOptions& options)
      : random_(seed), options_(options), w_(random_, options_) {}

  // Where a statement stands.
  struct Place {
    bool convergent;  // all lanes of the block come here together
    bool on_data;     // under a condition on data
    int depth;
    bool in_loop;
  };

  static Statement Line(const std::string& text);
  static Statement Lines(const std::string& text);
  Statement Pure();
  // A lane permutation or broadcast within the block, in %s1.
  std::string OtherLane();
  // "b32 |%r1" or "v2.b16 |{%h0, %h1}" for an access of at most 16 bytes; `bytes` is its size.
  std::string Access(int* bytes, bool is_load);
  static std::string LoadText(const std::string& space, const std::string& access, const std::string& address);
  static std::string StoreText(const std::string& space, const std::string& access, const std::string& address);
  int OffsetWithin(int room, int bytes);
  // A register that holds an address in some lanes only, or by a condition on data, is nothing that the checker
  // follows.
  bool AddressesMayDiffer(const Place& place) { return !place.on_data && (place.convergent || random_.OneIn(4)); }
  Statement GlobalLoad(const Place& place);
  std::string X() { return "%x" + std::to_string(random_.Below(6)); }
  // Arithmetic on indices, which hold no data in any lane or block.
  Statement Index();
  Statement IndexedLoad();
  // Each thread stores a word where a permutation of the grid says.
  Statement Scatter();
  Statement Local(const Place& place);
  Statement Store(const Place& place);
  Statement Shuffle();
  Statement Vote();
  Statement Redux();
  // A round trip through shared memory: all lanes write their sixteen bytes, then read another's.
  Statement Shared();
  Statement CopyAsync();
  Statement Matrix();

  Random random_;
  const GeneratorOptions options_;
  Writer w_;
  uint32_t threads_ = 0, total_ = 0;  // of a block, of the grid
  bool full_warps_ = true, power_of_two_ = true;

 private:
  int next_slot_ = 0, next_slab_ = 0;
};

}  // namespace samebits::generator

#endif  // SAMEBITS_TESTS_SUPPORT_GENERATOR_STATEMENTS_H_
