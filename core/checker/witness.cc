#include "core/checker/witness.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/thread_time.h"
#include "core/checker/draws.h"
#include "core/checker/parting.h"
#include "core/expr/enclosure.h"
#include "core/expr/fingerprint.h"
#include "core/expr/program.h"

namespace samebits::checker {

using expr::Evaluated;
using expr::Fn;
using expr::Program;
using expr::Scalar;
using expr::ValueId;

namespace {

constexpr size_t kMaxTargets = 8;         // pairs of trees that are searched
constexpr uint64_t kMaxWalked = 1 << 14;  // parting elements looked at, per buffer
constexpr size_t kMaxOutputs = 512;       // outputs of like trees that are looked at together
constexpr size_t kShared = 64;            // values that each of them may add
constexpr uint64_t kMaxValues = 1 << 22;  // values of one pair of trees

// What an input shows, ascending by how much.
enum class Shown : uint8_t { kNothing, kNan, kInexact, kContracted, kZeroSign, kDifference };

// Time and operations that are left.
class Budget {
 public:
  Budget(uint64_t operations, absl::Duration deadline, const std::atomic<bool>* cancelled)
      : left_(operations), deadline_(deadline), cancelled_(cancelled) {}
  bool Spend(uint64_t operations) {
    if (operations > left_ || ThreadCpuTime() > deadline_ || (cancelled_ != nullptr && *cancelled_)) left_ = 0;
    left_ -= std::min(left_, operations);
    return left_ > 0;
  }
  bool spent() const { return left_ == 0; }
  void Limit(uint64_t operations) { left_ = std::min(left_, operations); }

 private:
  uint64_t left_;
  absl::Duration deadline_;
  const std::atomic<bool>* cancelled_;
};

// Open terms of an address or anchor other than block indices, which are zero in one block of every grid.
bool DependsOnArguments(const symexec::SymbolicSpace& space, symexec::SymbolicId id) {
  for (const auto& [atom, factor] : space[id].terms)
    if (atom >= symexec::kFirstParamAtom) return true;
  return false;
}

bool DependsOnArguments(const Element& e, const Scalar& value) {
  const symexec::SymbolicSpace& space = *e.owner->symbolic;
  const std::vector<symexec::AtomId>& strides = e.owner->execution.strides;
  const auto strided = [&strides](expr::BufferId b) { return b < strides.size() && strides[b] != 0; };
  if (strided(e.store->buffer) || DependsOnArguments(space, e.store->address.symbolic)) return true;
  for (int i = 0; i < value.slots; ++i)
    if (strided(value.anchor[i].buffer) || DependsOnArguments(space, value.anchor[i].symbolic)) return true;
  return false;
}

// One pair of parting trees, with the numbers that they read.
class Target {
 public:
  Target(Workspace* workspace, bool ignore_signed_zero)
      : nodes_(workspace->nodes), ignore_signed_zero_(ignore_signed_zero), program_(&workspace->nodes, kMaxValues) {}

  // What both launches leave at the parting bytes of each of `partings`, whose trees are alike: the first is the one
  // that the search aims at, the others are looked at beside it.
  absl::Status Build(const std::vector<Parting>& partings) {
    for (const Parting& p : partings)
      if (const absl::Status s = AddOutput(p); !s.ok()) return s;
    Choose(0);
    FindTargets(partings[0]);
    approximate_ = TakesApproximate();
    program_.Cover(&image_);
    image_.Settle();
    CoverGathers();
    cells_ = FindCells(program_, image_, near_);
    AddGathered();
    FindFar();
    same_ = IsSame(expr::Sameness::kBits);
    uncontracted_same_ = same_ || IsSame(expr::Sameness::kUncontracted);
    finite_same_ = same_ || IsSame(expr::Sameness::kFinite);
    const auto uses = [this](Fn fn) {
      return std::any_of(program_.values().begin(), program_.values().end(),
                         [fn](const Program::Value& v) { return v.fn == fn; });
    };
    if (uses(Fn::kEx2)) order_.insert(order_.begin() + kStrategies / 2, 6, Strategy::kLogAbsorption);
    if (finite_same_)
      order_ = {Strategy::kFill, Strategy::kSpecials, Strategy::kNearSpecials, Strategy::kSprinkledSpecials,
                Strategy::kSparse};
    cost_ = program_.values().size();
    for (const Program::Value& v : program_.values()) cost_ += v.count / 4u;
    return absl::OkStatus();
  }

  uint64_t cost() const { return cost_; }
  size_t values() const { return program_.values().size(); }
  Shown best() const { return best_; }
  uint64_t tried() const { return tried_; }

  // One input by the next strategy in turn.
  Shown Next(Budget* budget) {
    const Strategy strategy = order_[tried_ % order_.size()];
    DrawContents(strategy, tried_ / order_.size(), cells_, &image_);
    ++tried_;
    const Shown shown = Look(budget);
    Keep(shown);
    if (shown == Shown::kNothing) Vary(budget);
    return best_;
  }
  bool Saw(Shown shown) const { return seen_.count(shown) != 0; }
  // Whether both sides are the same tree; whether they are where operands are finite numbers (expr/fingerprint.h).
  bool same() const { return same_; }
  // Whether the operations at which the sides part are approximate functions, or take results of such.
  bool approximate() const { return approximate_; }
  bool uncontracted_same() const { return uncontracted_same_; }
  bool finite_same() const { return finite_same_; }

  // Makes the best contents simpler while they show as much: parts become zeros, then what is left ones and round
  // numbers.
  void Minimise(Budget* budget) {
    Narrow();
    std::vector<size_t> rest;
    for (size_t i = 0; i < cells_.size(); ++i)
      if (!IsZero(cells_[i])) rest.push_back(i);
    for (size_t part = std::max<size_t>(1, rest.size() / 2); !rest.empty() && !budget->spent();) {
      bool any = false;
      for (size_t at = 0; at < rest.size() && !budget->spent();) {
        const size_t end = std::min(rest.size(), at + part);
        if (Keeps(
                rest, at, end, [](const Cell&, uint64_t) { return uint64_t{0}; }, budget)) {
          rest.erase(rest.begin() + static_cast<int64_t>(at), rest.begin() + static_cast<int64_t>(end));
          any = true;
        } else {
          at = end;
        }
      }
      if (part == 1 && !any) break;
      part = std::max<size_t>(1, std::min(part / 2, rest.size()));
    }
    for (size_t i = 0; i < rest.size() && !budget->spent(); ++i) {
      if (Keeps(
              rest, i, i + 1, [](const Cell& c, uint64_t) { return OnePattern(c.format, c.bytes); }, budget))
        continue;
      for (const int cut : {3, 2, 1})  // quarters of the number's low bits
        if (Keeps(
                rest, i, i + 1, [cut](const Cell& c, uint64_t x) { return Rounded(c, x, cut); }, budget))
          break;
    }
  }

  Witness Describe() {
    Witness w;
    image_.bytes() = contents_;
    int64_t done = -1;
    for (const Cell& c : cells_) {
      if (IsZero(c) || static_cast<int64_t>(c.position) < done) continue;
      done = static_cast<int64_t>(c.position) + c.bytes;
      WitnessInput in;
      const bool parameter = c.buffer == expr::Image::kParameters;
      if (!parameter) in.buffer = nodes_.buffer_name(c.buffer);
      in.byte_offset = static_cast<uint64_t>(parameter ? c.offset / 16 : c.offset);
      in.bytes = c.bytes;
      in.bits = Hex(Bits(c), c.bytes);
      in.value = Readable(c.format, Bits(c), c.bytes);
      w.inputs.push_back(std::move(in));
    }
    program_.Run(image_, Program::Contraction::kNone, &values_);
    const uint64_t a = static_cast<uint64_t>(values_[a_].bits), b = static_cast<uint64_t>(values_[b_].bits);
    w.buffer = nodes_.buffer_name(buffer_);
    w.byte_offset = static_cast<uint64_t>(address_);
    w.bytes = bytes_;
    w.bits_a = Hex(values_[a_].bits, static_cast<int>(bytes_));
    w.bits_b = Hex(values_[b_].bits, static_cast<int>(bytes_));
    w.value_a = Readable(format_, a, static_cast<int>(bytes_));
    w.value_b = Readable(format_, b, static_cast<int>(bytes_));
    w.exact = !values_[a_].inexact && !values_[b_].inexact && !program_.contractible();
    return w;
  }

  // Whether the evaluator, which shares no state with the program, finds the same bits for the best contents.
  bool Confirm() {
    image_.bytes() = contents_;
    program_.Run(image_, Program::Contraction::kNone, &values_);
    expr::EvaluatorOptions options;
    for (const Cell& c : cells_) {
      if (c.buffer != expr::Image::kParameters) continue;
      options.params.resize(std::max(options.params.size(), static_cast<size_t>(c.offset / 16 + 1)));
      options.params[static_cast<size_t>(c.offset / 16)] = Bits(c);
    }
    expr::Evaluator evaluator(&nodes_, &image_, options);
    for (const auto& [scalar, width, id] : outputs_[chosen_].roots) {
      const auto e = evaluator.Evaluate(scalar, width);
      if (!e.ok() || e->undefined != values_[id].undefined || (!e->undefined && e->bits != values_[id].bits))
        return false;
    }
    return true;
  }

 private:
  absl::StatusOr<ValueId> Add(const Scalar& scalar, int width) {
    const auto id = program_.Add(scalar, width);
    if (id.ok()) outputs_.back().roots.push_back({scalar, width, *id});
    return id;
  }

  absl::Status AddOutput(const Parting& p) {
    outputs_.emplace_back();
    const auto a = Side(p, p.a, p.value_a), b = Side(p, p.b, p.value_b);
    if (!a.ok()) return a.status();
    if (!b.ok()) return b.status();
    Output& o = outputs_.back();
    o.buffer = p.buffer;
    o.address = p.address;
    o.bytes = p.bytes;
    o.a = *a;
    o.b = *b;
    o.format = ResultFormat(program_, o.a);
    if (o.format == expr::Format::kNone) o.format = ResultFormat(program_, o.b);
    if (expr::FormatBits(o.format) != static_cast<int>(8 * o.bytes)) o.format = expr::Format::kNone;
    return absl::OkStatus();
  }

  void Choose(size_t output) {
    chosen_ = output;
    const Output& o = outputs_[output];
    buffer_ = o.buffer;
    address_ = o.address;
    bytes_ = o.bytes;
    a_ = o.a;
    b_ = o.b;
    format_ = o.format;
  }

  // From here on only the chosen output, and what it needs.
  void Narrow() {
    only_chosen_ = true;
    std::vector<bool> needed(program_.values().size());
    needed[a_] = needed[b_] = true;
    for (size_t n = needed.size(); n-- > 0;) {
      const Program::Value& v = program_.values()[n];
      for (int i = 0; needed[n] && i < v.count; ++i) needed[program_.operand(v, i)] = true;
    }
    needed_.clear();
    for (ValueId id = 0; id < needed.size(); ++id)
      if (needed[id]) needed_.push_back(id);
    cost_ = needed_.size();
  }

  void RunProgram(Program::Contraction contraction) {
    if (only_chosen_)
      program_.Rerun(image_, contraction, needed_, &values_);
    else
      program_.Run(image_, contraction, &values_);
  }

  absl::StatusOr<ValueId> Side(const Parting& p, const Element* e, const Scalar& value) {
    const int bits = e == nullptr ? static_cast<int>(8 * p.bytes) : static_cast<int>(8 * e->bytes);
    Scalar before;  // memory as the launch finds it
    before.node = nodes_.Leaf(p.buffer);
    before.slots = 1;
    before.anchor[0] = {e == nullptr ? p.address : e->address, 0, p.buffer, 0};
    if (e == nullptr) return Add(before, bits);
    if (e->store->atomic) return absl::UnimplementedError("an atomic operation's result is not evaluated");
    if (DependsOnArguments(*e, value))
      return absl::UnimplementedError("addresses depend on arguments that the launch leaves open");
    absl::StatusOr<ValueId> stored = Add(e->store->guarded ? nodes_.ChildScalar(value, 0) : value, bits);
    if (stored.ok() && e->store->guarded) {
      const auto guard = Add(nodes_.ChildScalar(value, 1), 1), kept = Add(before, bits);
      if (!guard.ok()) return guard.status();
      if (!kept.ok()) return kept.status();
      stored = program_.AddSelect(*guard, *stored, *kept);
    }
    if (!stored.ok()) return stored.status();
    return program_.AddExtract(*stored, static_cast<int>(8 * (p.address - e->address)), static_cast<int>(8 * p.bytes));
  }

  bool IsSame(expr::Sameness sameness) const {
    const std::vector<uint64_t> hashes = expr::Fingerprints(program_, sameness);
    return hashes[a_] == hashes[b_];
  }

  void Keep(Shown shown) {
    seen_.insert(shown);
    if (shown <= best_) return;
    best_ = shown;
    contents_ = image_.bytes();
  }

  // Where the parting nodes differ and what follows hides it: other numbers for the cells that only what follows reads,
  // and such that cancel the output.
  void Vary(Budget* budget) {
    if (near_.size() != 2 || near_[0] == a_ || far_.empty() || best_ > Shown::kNan) return;
    const Evaluated &x = values_[near_[0]], &y = values_[near_[1]];
    if (x.undefined || y.undefined || x.bits == y.bits) return;
    const auto try_now = [&] {
      if (!budget->Spend(far_values_.size())) return false;
      program_.Rerun(image_, Program::Contraction::kNone, far_values_, &values_);
      if (Judge(values_[a_], values_[b_], format_) <= Shown::kNan) return false;
      Keep(Look(budget));
      return best_ > Shown::kNan;
    };
    constexpr uint64_t kVariations = 256;
    constexpr size_t kCancelled = 4;
    for (uint64_t i = 0; i < kVariations && !budget->spent(); ++i) {
      DrawVariation(tried_ * kVariations + i, cells_, far_, &image_);
      if (try_now()) return;
      if (i % 16 != 0) continue;
      for (size_t k = 0; k < std::min(kCancelled, far_.size()); ++k) {
        const Cell& cell = cells_[far_[k]];
        Put(cell, 0, &image_);
        if (try_now()) return;
        Put(cell, Opposite(cell, format_, static_cast<uint64_t>(values_[a_].bits)), &image_);
        if (try_now()) return;
      }
    }
  }

  // Numbers that the parting nodes do not read, and all values that depend on them.
  void FindFar() {
    std::vector<bool> depends(program_.values().size());
    std::set<size_t> positions;
    for (size_t k = 0; k < cells_.size(); ++k) {
      if (cells_[k].near) continue;
      far_.push_back(k);
      for (size_t i = 0; i < cells_[k].bytes; ++i) positions.insert(cells_[k].position + i);
    }
    for (ValueId id = 0; id < depends.size(); ++id) {
      const Program::Value& v = program_.values()[id];
      if (v.kind == Program::Kind::kInput)
        depends[id] = positions.count(static_cast<size_t>(image_.Find(v.buffer, v.offset, 1))) != 0;
      for (int i = 0; i < v.count && !depends[id]; ++i) depends[id] = depends[program_.operand(v, i)];
      if (depends[id]) far_values_.push_back(id);
    }
  }

  static bool IsApproximate(Fn fn, uint64_t attr) {
    switch (fn) {
      case Fn::kFDiv:
      case Fn::kFRcp:
      case Fn::kFSqrt:
        return (attr & (expr::Attr::kApprox | expr::Attr::kFull)) != 0;
      case Fn::kFRsqrt:
      case Fn::kEx2:
      case Fn::kLg2:
      case Fn::kSin:
      case Fn::kCos:
      case Fn::kTanh:
        return true;
      default:
        return false;
    }
  }

  // The nodes at which the trees part, and the order of strategies that suits them.
  void FindTargets(const Parting& p) {
    Scalar x = p.value_a, y = p.value_b;
    near_ = {a_, b_};
    order_ = OrderFor(Fn::kUndef, 0, 0);
    if (p.a == nullptr || p.b == nullptr) return;
    DescendToParting(nodes_, &x, &y);
    const expr::Node &m = nodes_[x.node], &n = nodes_[y.node];
    order_ = OrderFor(m.fn == n.fn                             ? m.fn
                      : m.fn == Fn::kFAdd || n.fn == Fn::kFAdd ? Fn::kFAdd
                                                               : m.fn,
                      m.fn == n.fn ? m.attr : 0, m.fn == n.fn ? n.attr : 0);
    if (m.width == 0 || n.width == 0 || m.fn == Fn::kVector || n.fn == Fn::kVector) return;
    const auto i = program_.Add(x, m.width), j = program_.Add(y, n.width);
    if (i.ok() && j.ok()) near_ = {*i, *j};
  }

  bool TakesApproximate() const {
    std::vector<bool> below(program_.values().size());
    for (const ValueId id : near_) below[id] = true;
    for (size_t id = below.size(); id-- > 0;) {
      const Program::Value& v = program_.values()[id];
      if (below[id] && v.kind == Program::Kind::kStep && IsApproximate(v.fn, v.attr)) return true;
      for (int i = 0; below[id] && i < v.count; ++i) below[program_.operand(v, i)] = true;
    }
    return false;
  }

  // Makes room where data-dependent loads lead with all indices zero, one level after the other.
  void CoverGathers() {
    for (int level = 0; level < 4; ++level) {
      program_.Run(image_, Program::Contraction::kNone, &values_);
      bool any = false;
      for (const Program::Value& v : program_.values()) {
        if (v.kind != Program::Kind::kStep || v.fn != Fn::kGather) continue;
        const Evaluated& address = values_[program_.operand(v, 0)];
        const auto at = static_cast<int64_t>(static_cast<uint64_t>(address.bits));
        const int bytes = (v.width + 7) / 8;
        uint8_t out[16];
        if (address.undefined || image_.Find(v.buffer, at, bytes) >= 0 || !image_.Read(v.buffer, at, bytes, out))
          continue;
        gathered_.push_back({v.buffer, at, bytes});
        any = true;
      }
      if (!any) break;
      for (const auto& [buffer, at, bytes] : gathered_) image_.Cover(buffer, at, bytes);
      image_.Settle();
    }
  }

  // What data-dependent loads read are numbers to assign, too.
  void AddGathered() {
    for (const auto& [buffer, at, bytes] : gathered_) {
      Cell c;
      c.buffer = buffer;
      c.offset = at;
      c.position = static_cast<size_t>(image_.Find(buffer, at, bytes));
      c.bytes = static_cast<uint8_t>(bytes);
      c.near = true;
      const bool known =
          std::any_of(cells_.begin(), cells_.end(), [&](const Cell& o) { return o.position == c.position; });
      if (!known) cells_.push_back(c);
    }
    std::stable_sort(cells_.begin(), cells_.end(),
                     [](const Cell& x, const Cell& y) { return x.position < y.position; });
  }

  Shown Judge(const Evaluated& a, const Evaluated& b, expr::Format format) const {
    if (a.undefined || b.undefined || a.bits == b.bits) return Shown::kNothing;
    const auto x = static_cast<uint64_t>(a.bits), y = static_cast<uint64_t>(b.bits);
    if (IsNanPattern(format, x) && IsNanPattern(format, y)) return Shown::kNan;
    if (a.inexact || b.inexact) return Shown::kInexact;
    if (IsZeroPattern(format, x) && IsZeroPattern(format, y))
      return ignore_signed_zero_ ? Shown::kNothing : Shown::kZeroSign;
    return Shown::kDifference;
  }

  // What the image shows.
  Shown Look(Budget* budget) {
    if (!budget->Spend(cost_)) return Shown::kNothing;
    RunProgram(Program::Contraction::kNone);
    Shown shown = JudgeAll();
    if (program_.contractible()) return Contracted(values_[a_], values_[b_], shown, budget);
    if (shown != Shown::kInexact || !budget->Spend(4 * cost_)) return shown;
    std::vector<std::pair<ValueId, ValueId>> pairs;
    std::vector<size_t> indices;
    for (size_t i = 0; i < outputs_.size(); ++i) {
      if (only_chosen_ && i != chosen_) continue;
      const Output& o = outputs_[i];
      if (Judge(values_[o.a], values_[o.b], o.format) != Shown::kInexact) continue;
      pairs.push_back({o.a, o.b});
      indices.push_back(i);
    }
    const int sure = expr::FirstSurelyDifferent(program_, values_, pairs);
    if (sure < 0) return shown;
    Choose(indices[static_cast<size_t>(sure)]);
    return Shown::kDifference;
  }

  // The most that an output shows; that output becomes the chosen one.
  Shown JudgeAll() {
    if (only_chosen_) return Judge(values_[a_], values_[b_], format_);
    Shown most = Shown::kNothing;
    size_t which = 0;
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const Shown s = Judge(values_[outputs_[i].a], values_[outputs_[i].b], outputs_[i].format);
      if (s > most) {
        most = s;
        which = i;
      }
    }
    if (most > best_) Choose(which);
    return most;
  }

  // The bits must differ whichever products each side fuses.
  Shown Contracted(const Evaluated& a, const Evaluated& b, Shown plain, Budget* budget) {
    Evaluated as[3] = {a}, bs[3] = {b};
    if (!budget->Spend(2 * cost_)) return Shown::kNothing;
    for (int k = 1; k < 3; ++k) {
      RunProgram(k == 1 ? Program::Contraction::kFirst : Program::Contraction::kLast);
      as[k] = values_[a_];
      bs[k] = values_[b_];
    }
    Shown least = plain, most = plain;
    for (const Evaluated& x : as) {
      for (const Evaluated& y : bs) {
        const Shown s = Judge(x, y, format_);
        least = std::min(least, s);
        most = std::max(most, s);
      }
    }
    if (least == Shown::kNothing && most != Shown::kNothing) return Shown::kContracted;
    return least;
  }

  uint64_t Bits(const Cell& c) const {
    uint64_t bits = 0;
    for (int i = 0; i < c.bytes && i < 8; ++i)
      bits |= uint64_t{contents_[c.position + static_cast<size_t>(i)]} << (8 * i);
    return bits;
  }
  bool IsZero(const Cell& c) const {
    for (int i = 0; i < c.bytes; ++i)
      if (contents_[c.position + static_cast<size_t>(i)] != 0) return false;
    return true;
  }

  // A number with the low part of its fraction cleared.
  static uint64_t Rounded(const Cell& c, uint64_t bits, int quarters) {
    if (!IsFloatFormat(c.format) || IsNanPattern(c.format, bits)) return bits;
    const int fraction = 8 * c.bytes <= 8 ? 3
                         : c.bytes == 2   ? (c.format == expr::Format::kF16 ? 10 : 7)
                         : c.bytes == 4   ? 23
                                          : 52;
    const int cleared = quarters == 3 ? fraction : fraction * quarters / 3;
    return bits >> cleared << cleared;
  }

  // Changes the cells rest[begin, end) and keeps that if it still shows as much.
  template <typename Change>
  bool Keeps(const std::vector<size_t>& rest, size_t begin, size_t end, Change change, Budget* budget) {
    image_.bytes() = contents_;
    bool changed = false;
    for (size_t k = begin; k < end; ++k) {
      const Cell& c = cells_[rest[k]];
      const uint64_t old = Bits(c), bits = change(c, old);
      changed |= bits != old;
      Put(c, bits, &image_);
    }
    if (!changed && end == begin + 1) return false;
    if (Look(budget) < best_) return false;
    contents_ = image_.bytes();
    return true;
  }

  static std::string Hex(uint128 bits, int bytes) {
    std::string text;
    if (bytes > 8) text = absl::StrFormat("%0*x", 2 * (bytes - 8), static_cast<uint64_t>(bits >> 64));
    return absl::StrCat("0x", text, absl::StrFormat("%0*x", 2 * std::min(bytes, 8), static_cast<uint64_t>(bits)));
  }

  expr::NodeManager& nodes_;
  const bool ignore_signed_zero_;
  Program program_;
  expr::Image image_;
  struct Output {
    expr::BufferId buffer = 0;
    int64_t address = 0;
    uint32_t bytes = 0;
    ValueId a = 0, b = 0;
    expr::Format format = expr::Format::kNone;
    std::vector<std::tuple<Scalar, int, ValueId>> roots;  // added for it, with their widths
  };
  std::vector<Output> outputs_;
  size_t chosen_ = 0;
  bool only_chosen_ = false;
  std::vector<ValueId> needed_;  // by the chosen output
  std::vector<std::tuple<expr::BufferId, int64_t, int>> gathered_;
  std::vector<Cell> cells_;
  std::vector<ValueId> near_, far_values_;
  std::vector<size_t> far_;
  std::vector<Strategy> order_;
  std::vector<Evaluated> values_;
  std::vector<uint8_t> contents_;  // of the best input
  std::set<Shown> seen_;
  expr::BufferId buffer_ = 0;
  int64_t address_ = 0;
  uint32_t bytes_ = 0;
  ValueId a_ = 0, b_ = 0;
  expr::Format format_ = expr::Format::kNone;
  bool same_ = false, uncontracted_same_ = false, finite_same_ = false, approximate_ = false;
  uint64_t cost_ = 0, tried_ = 0;
  Shown best_ = Shown::kNothing;
};

// Pairs of different trees among the parting elements, the smallest first.
std::vector<std::unique_ptr<Target>> FindTargets(const Check& a, const Check& b, Workspace* workspace,
                                                 bool ignore_signed_zero, std::string* problem) {
  std::vector<std::unique_ptr<Target>> targets;
  // Partings of one pair of trees, and whether more of them are welcome.
  struct Family {
    std::vector<Parting> partings;
    size_t target = 0, values = 0;
    bool open = false;
  };
  const bool open = !a.launch.grid_known || !b.launch.grid_known;
  for (const expr::BufferId buffer : DifferingBuffers(a, b)) {
    uint64_t walked = 0;
    std::map<std::tuple<expr::NodeId, expr::NodeId, uint32_t>, Family> families;
    const bool complete = WalkPartings(
        a, b, workspace, buffer,
        [&](const Parting& p) {
          ++walked;
          const bool alone = p.a == nullptr || p.b == nullptr;
          const auto key = std::tuple(p.a == nullptr ? 0xffffffff : p.value_a.node,
                                      p.b == nullptr ? 0xffffffff : p.value_b.node, p.bytes);
          const auto [it, fresh] = families.try_emplace(key);
          Family& family = it->second;
          const bool joins = !fresh && family.open;
          if (joins) family.partings.push_back(p);
          if (joins && family.partings.size() == 2) {
            // Outputs that share nearly all of their trees cost little together.
            auto both = std::make_unique<Target>(workspace, ignore_signed_zero);
            family.open = both->Build(family.partings).ok() && both->values() < family.values + kShared;
          }
          if (fresh && open && alone)
            *problem = "one launch writes bytes that the other does not, with a grid left open";
          if (fresh && !(open && alone) && targets.size() < kMaxTargets) {
            auto target = std::make_unique<Target>(workspace, ignore_signed_zero);
            if (const absl::Status s = target->Build({p}); s.ok()) {
              family.partings.push_back(p);
              family.values = target->values();
              family.target = targets.size();
              family.open = !alone;
              targets.push_back(std::move(target));
            } else {
              *problem = std::string(s.message());
            }
          }
          family.open &= family.partings.size() < kMaxOutputs;
          return walked < kMaxWalked;
        },
        [&] {  // while the elements are there
          for (auto& [key, family] : families) {
            if (family.partings.size() <= 2) continue;
            auto all = std::make_unique<Target>(workspace, ignore_signed_zero);
            if (all->Build(family.partings).ok() && all->values() < family.values + kShared * family.partings.size())
              targets[family.target] = std::move(all);
          }
        });
    if (!complete) *problem = "more written elements than are compared";
    if (targets.size() >= kMaxTargets) break;
  }
  std::stable_sort(targets.begin(), targets.end(), [](const auto& x, const auto& y) { return x->cost() < y->cost(); });
  return targets;
}

void Explain(Cause cause, std::string text, SearchResult* result) {
  result->cause = cause;
  result->cause_text = std::move(text);
}

void NameCause(const std::vector<std::unique_ptr<Target>>& targets, const std::string& problem, SearchResult* result) {
  const auto saw = [&](Shown s) {
    return std::any_of(targets.begin(), targets.end(), [s](const auto& t) { return t->Saw(s); });
  };
  if (targets.empty() && !problem.empty()) return Explain(Cause::kNotEvaluated, problem, result);
  const auto all = [&](bool (Target::*property)() const) {
    return std::all_of(targets.begin(), targets.end(), [property](const auto& t) { return (*t.*property)(); });
  };
  if (all(&Target::same))
    return Explain(Cause::kSameTrees,
                   "the elements compared have equal trees; the canonical forms group their addresses otherwise",
                   result);
  if (saw(Shown::kContracted) || all(&Target::uncontracted_same))
    return Explain(Cause::kContraction,
                   "the bits differ only if the assembler fuses a product into a sum in one of the two", result);
  const auto approximate = [result] {
    Explain(Cause::kApproximateFunction,
            "whether the bits differ depends on results of approximate functions that the ISA leaves open", result);
  };
  if (saw(Shown::kInexact)) return approximate();
  if (saw(Shown::kNan))
    return Explain(Cause::kNanPayload, "only NaNs of different patterns were found, which the ISA leaves open", result);
  if (all(&Target::finite_same))
    return Explain(Cause::kSpecialValues,
                   "the two are equal where no NaN or infinity arises and the sign of zero does not count", result);
  if (std::any_of(targets.begin(), targets.end(), [](const auto& t) { return t->approximate(); })) return approximate();
  Explain(Cause::kNone, "no input tried gives different bits", result);
}

}  // namespace

SearchResult SearchWitness(const Check& a, const Check& b, Workspace* workspace, const Options& options) {
  SearchResult result;
  std::string problem;
  const absl::Duration deadline = ThreadCpuTime() + options.limits.max_witness_time;
  Budget budget(options.limits.max_witness_operations, deadline, options.cancelled);
  auto targets = FindTargets(a, b, workspace, options.ignore_signed_zero, &problem);
  std::vector<Target*> searched;
  bool hopeful = false;
  for (const auto& t : targets) {
    if (!t->same()) searched.push_back(t.get());
    hopeful |= !t->finite_same();
  }
  if (!hopeful) budget.Limit(options.limits.max_witness_operations / 4);
  Target* best = nullptr;
  while (!searched.empty() && !budget.spent() && (best == nullptr || best->best() != Shown::kDifference)) {
    for (Target* t : searched) {
      if (t->Next(&budget) == Shown::kZeroSign && best == nullptr) {
        best = t;
        budget.Limit(options.limits.max_witness_operations / 4);
      }
      ++result.inputs_tried;
      if (t->best() == Shown::kDifference) {
        best = t;
        break;
      }
      if (budget.spent()) break;
    }
  }
  if (best == nullptr || !best->Confirm()) {
    NameCause(targets, problem, &result);
    return result;
  }
  Budget rest(options.limits.max_witness_operations / 2, deadline, options.cancelled);
  best->Minimise(&rest);
  result.witness = best->Describe();
  if (best->best() == Shown::kZeroSign)
    Explain(Cause::kSignedZero, "the bits differ in the sign of a zero only", &result);
  return result;
}

}  // namespace samebits::checker
