#ifndef SAMEBITS_CORE_CHECKER_CHECKER_H_
#define SAMEBITS_CORE_CHECKER_CHECKER_H_

// The facade of the static checker: kernel text and launch in, signature and verdict out.

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/checker/explain/tree_node.h"
#include "core/checker/place.h"

namespace samebits::checker {

// One kernel argument, in the order of the kernel's parameters.
struct Argument {
  enum class Kind : uint8_t {
    kUnknown,  // not given: a pointer or scalar known only by its position
    kPointer,  // device buffer; `buffer` names it, empty: identified by its position among the parameters
    kInteger,  // `bits`, sign-extended to 64; must fit the parameter's width, signed or not
    kFloat,    // `bits`: pattern of the parameter's own width (32 or 64)
    kScratch,  // pointer whose contents are not compared
    kBytes,    // by-value aggregate: `bytes` as laid out in memory
  };
  Kind kind = Kind::kUnknown;
  std::string buffer;
  uint64_t bits = 0;
  std::vector<uint8_t> bytes;
};

using Dim3 = std::array<uint32_t, 3>;

// What is launched. The grid may be left open; the block may not.
struct Launch {
  std::string entry;                          // empty: the text's only entry
  Dim3 block{1, 1, 1};
  std::optional<Dim3> grid;
  uint32_t shared_bytes = 0;                  // dynamic shared memory
  std::optional<std::vector<Argument>> args;  // nullopt: all unknown
  std::vector<std::string> outputs;           // buffers compared; empty: every buffer that is written
};

// Bounds on one check. Running out of one is Status UNKNOWN with the limit's name as reason.
struct Limits {
  uint64_t max_text_bytes = 16ull << 20;
  uint64_t max_steps = 400'000'000;     // lane-instructions over all grid classes
  uint64_t max_nodes = 24'000'000;      // expression nodes
  uint64_t max_memory_bytes = 1ull << 30;
  uint64_t max_grid_blocks = 1ull << 22;
  uint32_t max_grid_classes = 4096;     // sets of blocks executed apart
  absl::Duration max_time = absl::Seconds(10);  // processor time of the checking thread
  // Of the search for a witness: operations evaluated over all inputs tried, and processor time beside it. Running out of
  // either ends the search without one.
  uint64_t max_witness_operations = 40'000'000;
  absl::Duration max_witness_time = absl::Seconds(30);
};

// Language of a text.
enum class TextIsa : uint8_t { kDetect, kPtx, kAmdgcn };

struct Options {
  Limits limits;
  TextIsa isa = TextIsa::kDetect;
  bool ignore_signed_zero = false;
  bool strict_contraction = false;      // a contractible edge makes the kernel UNKNOWN
  const std::atomic<bool>* cancelled = nullptr;  // polled; not owned
};

enum class SignatureStatus : uint8_t { kOk, kNondeterministic, kUnknown };

// Times of the stages, microseconds of one thread.
struct StageTimes {
  double parse = 0, execute = 0, map = 0;
  double total() const { return parse + execute + map; }
};

struct Signature {
  SignatureStatus status = SignatureStatus::kUnknown;
  std::string digest;                 // 32 lower-case hex digits; set when status is kOk
  std::string reason;                 // why not kOk, one line; empty otherwise
  std::string reason_code;            // stable upper-case token of the reason's kind ("UNMODELLED_INSTRUCTION")
  Place place;                        // where the reason arose
  std::vector<std::string> assumptions;  // scope under which the digest decides, sorted
  StageTimes times;
  uint64_t steps = 0, nodes = 0;
  uint32_t families = 0;              // distinct trees over all outputs
  uint64_t output_bytes = 0;          // bytes written over the grid, 0 where the grid is open
};

enum class Verdict : uint8_t { kEquivalent, kDifferent, kDistinct, kNondeterministic, kUnknown };

// Spelling as in the API: "EQUIVALENT", ...
std::string_view VerdictName(Verdict verdict);
std::string_view StatusName(SignatureStatus status);  // "OK", "NONDETERMINISTIC", "UNKNOWN"

// One side of a parting output element.
struct PartingSide {
  std::string tree;                   // readable expression, common subtrees folded to "[same #1]"
  std::string node;                   // the parting node's operation, one line
  Place place;                        // the instruction that made it
  // The element's expression, folded to what the two sides differ in; empty where there is none to show.
  Tree nodes;
  Dim3 thread{0, 0, 0}, block{0, 0, 0};  // that stores the element; of an open grid the first block
};

// Why two launches that part may return the same bits all the same, or no input is known that shows the contrary.
enum class Cause : uint8_t {
  kNone,                 // nothing is known: the search ran out, or was not made
  kSignedZero,           // only the signs of zeros differ
  kNanPayload,           // only the patterns of NaNs differ
  kApproximateFunction,  // results of approximate functions decide
  kContraction,          // whether the assembler fuses products into sums decides
  kSpecialValues,        // equal where no NaN or infinity arises and the sign of zero does not count
  kSameTrees,            // the elements compared have equal trees; the canonical forms group their addresses otherwise
  kNotEvaluated,         // some operation or address has no value outside the device
};
std::string_view CauseName(Cause cause);  // "SIGNED_ZERO", ...; "NONE"

// A number in memory before the launch, or the value of an argument that the launch leaves open.
struct WitnessInput {
  std::string buffer;                 // empty: argument number `byte_offset`
  uint64_t byte_offset = 0;
  uint32_t bytes = 0;
  std::string bits;                   // little-endian pattern as a number: "0x3f800000"
  std::string value;                  // readable: "1 (f32)"
};

// An input on which two launches write different bits. All memory that `inputs` does not name holds zeros, the outputs
// included; open grids have at least one block.
struct Witness {
  std::vector<WitnessInput> inputs;
  std::string buffer;                 // the output bytes that differ
  uint64_t byte_offset = 0;
  uint32_t bytes = 0;
  std::string bits_a, bits_b;         // patterns as in WitnessInput
  std::string value_a, value_b;
  // False: approximate functions or fused products take part. The device's bits may be others than these; they differ
  // for every result that the ISA allows.
  bool exact = true;
};

// Why two launches are not known equal.
struct Difference {
  std::string summary;                // one sentence
  std::string buffer;                 // of the first parting output element
  uint64_t byte_offset = 0;
  PartingSide a, b;
  std::optional<Witness> witness;     // makes the verdict DIFFERENT
  // Without a witness: what is known of the reason. With one: kSignedZero where the bits differ in nothing else.
  Cause cause = Cause::kNone;
  std::string cause_text;             // one sentence, empty for kNone with a witness
  uint64_t inputs_tried = 0;
};

struct Comparison {
  Verdict verdict = Verdict::kUnknown;
  std::string reason;                 // for UNKNOWN and NONDETERMINISTIC: which launch and why
  Signature a, b;
  std::optional<Difference> difference;  // for DISTINCT and DIFFERENT, from Explain
};

// Version of signature encoding and rules; signatures of different versions do not compare.
int SignatureVersion();

// INVALID_ARGUMENT for texts that do not parse or that an assembler would refuse (isa/ptx/verifier.h), entries that do
// not exist, argument lists that do not fit (message with place and remedy); RESOURCE_EXHAUSTED for texts over
// max_text_bytes. All else, also running out of a limit, is a Signature. Pure and thread-safe.
absl::StatusOr<Signature> ComputeSignature(std::string_view text, const Launch& launch, const Options& options = {});

// Verdict from two signatures, without an explanation.
Comparison CompareSignatures(const Signature& a, const Signature& b);

// As ComputeSignature on both, with `difference` filled where the canonical forms part: the parting element and, where
// the bounded search finds one, a witness. DIFFERENT with a witness, else DISTINCT.
absl::StatusOr<Comparison> Explain(std::string_view text_a, const Launch& a, std::string_view text_b, const Launch& b,
                                   const Options& options = {});

// The kernel's map in readable form: status, scope, per output family its buffer, addresses, domain and tree.
absl::StatusOr<std::string> Inspect(std::string_view text, const Launch& launch, const Options& options = {});

// What a front end needs to know of a text before launching it.
struct ParameterInfo {
  std::string name, type;             // type as written: "u64", "f32", "b8[16]"
  uint32_t bytes = 0;
  bool is_pointer = false;
};
struct EntryInfo {
  std::string name;
  std::vector<ParameterInfo> parameters;
  std::optional<Dim3> required_block;  // .reqntid
  uint64_t static_shared_bytes = 0;
};
struct TextInfo {
  std::string isa;                    // "ptx" or "amdgcn"
  std::string target;                 // "sm_90a"
  std::string version;                // "8.7"
  std::vector<EntryInfo> entries;
};
absl::StatusOr<TextInfo> DescribeText(std::string_view text, const Limits& limits = {});

}  // namespace samebits::checker

#endif  // SAMEBITS_CORE_CHECKER_CHECKER_H_
