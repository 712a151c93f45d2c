#include "core/gemm/recovery.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/gemm/hypothesis.h"
#include "core/gemm/probe.h"
#include "core/softfloat/convert.h"

namespace samebits::gemm {
namespace {

using List = std::vector<int64_t>;  // places of the contracted axis

// A probe by indices into a list.
struct LocalProbe {
  int64_t p = 0, q = 0;
  std::vector<int64_t> small;
};

struct Observation {
  LocalProbe probe;
  uint64_t absorbed = 0;
};

// Splits a list as a cut does; parts without elements left out.
std::vector<List> Split(const List& list, const KCut& cut) {
  const int64_t n = static_cast<int64_t>(list.size()), tiles = (n + cut.span - 1) / cut.span;
  const int64_t parts = cut.layout == CutLayout::kContiguous ? tiles : std::min(cut.count, tiles);
  std::vector<List> result(parts);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t tile = i / cut.span;
    int64_t part = tile;
    if (cut.layout == CutLayout::kStrided) part = tile % parts;
    if (cut.layout == CutLayout::kBalanced) {
      const int64_t few = tiles / parts, larger = tiles % parts;
      part = tile < larger * (few + 1) ? tile / (few + 1) : larger + (tile - larger * (few + 1)) / few;
    }
    result[part].push_back(list[i]);
  }
  return result;
}

class Investigation {
 public:
  Investigation(BlackBox* box, const GemmProblem& problem, const RecoveryOptions& options)
      : box_(box), problem_(problem), options_(options), prober_(box, problem, options.probes_per_launch),
        random_(options.seed) {
    result_.summed_k = problem.k;
  }

  absl::StatusOr<Recovery> Run() {
    absl::StatusOr<CallProfile> profile = box_->Profile(problem_);
    if (!profile.ok()) return profile.status();
    profile_ = *std::move(profile);
    Note(profile_.kernels == 0 ? absl::StrCat("profile: ", profile_.kernel, "; what it launches is not known")
                               : absl::StrCat("profile: kernel ", profile_.kernel, ", ", profile_.kernels,
                                              " launched, workspace ", profile_.workspace_bytes, " bytes"));
    for (const auto& stage : {&Investigation::CheckRows, &Investigation::CheckCoverage}) {
      if (absl::Status status = (this->*stage)(); !status.ok()) return status;
      if (!result_.reason.empty()) break;
    }
    if (result_.reason.empty()) {
      if (absl::Status status = ReadUntilReproduced(); !status.ok()) return status;
    }
    result_.launches = prober_.launches() + draws_;
    result_.explained = result_.reason.empty();
    return result_;
  }

 private:
  static constexpr size_t kTestedRivals = 8, kShortPart = 64;
  static constexpr size_t kMostAttempts = 3;
  static constexpr int kFewestRounds = 60, kMostProbes = 250;  // of launches for one level of the tree
  static constexpr char kNotReproduced[] = "no candidate reproduces random draws";

  // Reads the tree and validates it; what does not reproduce draws is read again, with more tests.
  absl::Status ReadUntilReproduced() {
    for (attempt_ = 1;; ++attempt_) {
      cuts_.clear();
      alternatives_.clear();
      known_.clear();
      group_ = 1, step_ = 0;
      if (absl::Status status = ReadTree(); !status.ok()) return status;
      if (!result_.reason.empty()) return absl::OkStatus();
      if (absl::Status status = Eliminate(); !status.ok()) return status;
      if (result_.reason != kNotReproduced || attempt_ == kMostAttempts || !CanDiffer()) return absl::OkStatus();
      result_.reason.clear();
    }
  }
  // Whether reading again could find something else: some cut was found by probes.
  bool CanDiffer() const { return !cuts_.empty(); }

  void Note(std::string text) { result_.evidence.push_back(std::move(text)); }
  void Unexplained(std::string reason) {
    Note(absl::StrCat("unexplained: ", reason));
    result_.reason = std::move(reason);
  }
  int64_t Random(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }
  bool OutOfLaunches() {
    if (prober_.launches() + draws_ < options_.most_launches) return false;
    Unexplained("more launches are needed than allowed");
    return true;
  }

  // --- random operands ---

  struct Draw : DrawnOperands {
    std::vector<uint64_t> library;
  };

  static std::vector<Output> Grid(size_t rows, size_t columns) {
    std::vector<Output> outputs;
    for (size_t i = 0; i < rows; ++i) {
      for (size_t j = 0; j < columns; ++j) outputs.push_back({static_cast<int64_t>(i), static_cast<int64_t>(j)});
    }
    return outputs;
  }

  absl::Status Ask(Draw* draw) {
    ++draws_;
    absl::StatusOr<std::vector<uint64_t>> library = box_->Multiply(problem_, draw->a, draw->b, draw->outputs);
    if (!library.ok()) return library.status();
    draw->library = *std::move(library);
    return absl::OkStatus();
  }

  absl::StatusOr<Draw> Launch(int kind, bool repeat_rows) {
    Draw draw{DrawOperands(problem_, options_.sample_side, random_(), kind)};
    if (repeat_rows) {
      for (SparseRows* rows : {&draw.a, &draw.b}) {
        for (size_t i = problem_.k; i < rows->patterns.size(); ++i) rows->patterns[i] = rows->patterns[i - problem_.k];
      }
    }
    if (absl::Status status = Ask(&draw); !status.ok()) return status;
    return draw;
  }

  absl::Status CheckRows() {
    if (problem_.m == 1 && problem_.n == 1) return absl::OkStatus();
    const absl::StatusOr<Draw> draw = Launch(0, true);
    if (!draw.ok()) return draw.status();
    const std::vector<uint64_t>& values = draw->library;
    if (std::any_of(values.begin(), values.end(), [&](uint64_t v) { return v != values[0]; })) {
      Unexplained("outputs of equal rows and columns differ: the order depends on the place of the output");
    } else {
      Note(absl::StrCat("equal rows and columns gave ", values.size(), " equal outputs"));
    }
    return absl::OkStatus();
  }

  // --- which elements are summed at all ---

  absl::StatusOr<std::vector<bool>> Returned(const std::vector<int64_t>& places) {
    std::vector<bool> returned;
    const size_t small = prober_.small_per_probe(), each = small * prober_.probes_per_launch();
    for (size_t begin = 0; begin < places.size(); begin += each) {
      std::vector<Probe> probes;
      for (size_t i = begin; i < std::min(begin + each, places.size()); i += small) {
        probes.push_back({0, 0, {places.begin() + i, places.begin() + std::min({i + small, begin + each, places.size()})}});
      }
      const absl::StatusOr<std::vector<Answer>> answers = prober_.Ask(probes);
      if (!answers.ok()) return answers.status();
      for (size_t i = 0; i < probes.size(); ++i) {
        if (!(*answers)[i].valid) Unexplained("a sum of a few tiny values did not come back exactly");
        for (size_t j = 0; j < probes[i].small.size(); ++j) returned.push_back(((*answers)[i].absorbed >> j & 1) == 0);
      }
    }
    return returned;
  }

  absl::Status CheckCoverage() {
    const int64_t k = problem_.k;
    std::set<int64_t> places{0, k - 1};
    const int64_t budget = std::min<int64_t>(k, prober_.small_per_probe() * prober_.probes_per_launch());
    for (int64_t back = 2; back < k && static_cast<int64_t>(places.size()) < budget; back *= 2) places.insert(k - back);
    while (static_cast<int64_t>(places.size()) < budget) places.insert(Random(0, k - 1));
    const std::vector<int64_t> list(places.begin(), places.end());
    absl::StatusOr<std::vector<bool>> returned = Returned(list);
    if (!returned.ok()) return returned.status();
    if (!result_.reason.empty()) return absl::OkStatus();
    int64_t last_kept = -1, first_lost = k;
    for (size_t i = 0; i < list.size(); ++i) {
      if ((*returned)[i]) last_kept = list[i];
      if (!(*returned)[i]) first_lost = std::min(first_lost, list[i]);
    }
    if (first_lost == k) {
      Note(absl::StrCat("all of ", list.size(), " places asked contribute"));
      return absl::OkStatus();
    }
    if (last_kept > first_lost) {
      Unexplained(absl::StrCat("element ", first_lost, " is not summed, though ", last_kept, " is"));
      return absl::OkStatus();
    }
    return LocateTail(last_kept, first_lost);
  }

  absl::Status LocateTail(int64_t kept, int64_t lost) {
    while (lost - kept > 1 && !OutOfLaunches()) {
      const int64_t parts = std::min<int64_t>(lost - kept - 1, prober_.small_per_probe() * prober_.probes_per_launch());
      std::vector<int64_t> places;
      for (int64_t i = 1; i <= parts; ++i) places.push_back(kept + (lost - kept) * i / (parts + 1));
      places.erase(std::unique(places.begin(), places.end()), places.end());
      if (places.front() == kept) places.erase(places.begin());
      const absl::StatusOr<std::vector<bool>> returned = Returned(places);
      if (!returned.ok()) return returned.status();
      for (size_t i = 0; i < places.size(); ++i) {
        if ((*returned)[i]) kept = std::max(kept, places[i]);
        if (!(*returned)[i]) lost = std::min(lost, places[i]);
      }
      if (kept > lost) Unexplained("the elements that are not summed are no tail");
      if (!result_.reason.empty()) return absl::OkStatus();
    }
    result_.summed_k = lost;
    Note(absl::StrCat("DEFECT: elements ", lost, " to ", problem_.k - 1, " are not summed"));
    return absl::OkStatus();
  }

  // --- the tree of sums ---

  LocalProbe RandomProbe(int64_t n) {
    LocalProbe probe;
    const auto near = [&](int64_t x) {
      const int64_t reach = std::min<int64_t>(n - 1, int64_t{1} << Random(0, 20));
      return std::clamp<int64_t>(x + Random(-reach, reach), 0, n - 1);
    };
    probe.p = Random(0, 2) == 0 ? 0 : Random(0, n - 1);
    do probe.q = Random(0, 2) == 0 ? Random(0, n - 1) : near(probe.p);
    while (probe.q == probe.p);
    if (probe.p > probe.q) std::swap(probe.p, probe.q);
    std::set<int64_t> small;
    const size_t wanted = std::min<int64_t>(prober_.small_per_probe(), n - 2);
    for (int tries = 0; small.size() < wanted && tries < 200; ++tries) {
      const int64_t roll = Random(0, 5);
      const int64_t x = roll == 0 ? Random(0, n - 1) : roll < 3 ? near(probe.p) : roll < 5 ? near(probe.q) : (tries % 2) * (n - 1);
      if (x != probe.p && x != probe.q) small.insert(x);
    }
    probe.small.assign(small.begin(), small.end());
    return probe;
  }

  static bool Agrees(const Hypothesis& h, int64_t n, const Observation& seen) {
    for (size_t i = 0; i < seen.probe.small.size(); ++i) {
      const Prediction prediction = Predict(h, n, seen.probe.p, seen.probe.q, seen.probe.small[i]);
      if (prediction != Prediction::kOpen && (seen.absorbed >> i & 1) != static_cast<uint64_t>(prediction)) return false;
    }
    return true;
  }

  // Bits of the probe that both foretell, and differently.
  static int Conflicts(const Hypothesis& x, const Hypothesis& y, int64_t n, const LocalProbe& probe) {
    int conflicts = 0;
    for (int64_t small : probe.small) {
      const Prediction a = Predict(x, n, probe.p, probe.q, small), b = Predict(y, n, probe.p, probe.q, small);
      conflicts += a != Prediction::kOpen && b != Prediction::kOpen && a != b;
    }
    return conflicts;
  }

  // A probe at places where `x` or `y` has a boundary.
  LocalProbe BoundaryProbe(const Hypothesis& x, const Hypothesis& y, int64_t n) {
    const auto boundary = [&] {
      const Hypothesis& h = Random(0, 1) == 0 ? x : y;
      int64_t i = Random(0, 1) == 0 ? Random(0, n) : Random(-3, 3);
      if (h.kind == Hypothesis::Kind::kChain && h.count > 0 && Random(0, 1) == 0) i = h.count / h.span + Random(-1, 2);
      return Boundary(h, n, i);
    };
    const auto clamp = [&](int64_t place) { return std::clamp<int64_t>(place, 0, n - 1); };
    LocalProbe probe{0, Random(1, n - 1), {}};
    const int64_t at = boundary();
    const int64_t shapes[][2] = {{at - 1, at}, {at, at + 1}, {0, at}, {0, at - 1}, {at - 2, at - 1}, {at, boundary()},
                                 {at - 1, boundary() - 1}};
    const int64_t* pair = shapes[Random(0, 6)];
    const int64_t p = clamp(pair[0]), q = clamp(pair[1]);
    if (p != q) probe.p = std::min(p, q), probe.q = std::max(p, q);
    std::set<int64_t> small;
    const size_t wanted = std::min<int64_t>(prober_.small_per_probe(), n - 2);
    for (int tries = 0; small.size() < wanted && tries < 100; ++tries) {
      const int64_t from = Random(0, 2) == 0 ? boundary() : Random(0, 2) == 0 ? probe.p : probe.q;
      const int64_t reach = std::max<int64_t>(1, Random(0, 2) == 0 ? x.span : Random(0, 1) == 0 ? y.span : 2);
      const int64_t place = clamp(from + Random(-reach, reach));
      if (place != probe.p && place != probe.q) small.insert(place);
    }
    probe.small.assign(small.begin(), small.end());
    return probe;
  }

  // A probe within one part of `rival`, about what it leaves open and `top` foretells; the best of some that would
  // refute `top` if the part were one chain. Empty where none is found.
  LocalProbe OpenProbe(const Hypothesis& top, const Hypothesis& rival, int64_t n) {
    LocalProbe best;
    int most = 0;
    for (int tries = 0; tries < 40; ++tries) {
      LocalProbe probe;
      const auto clamp = [&](int64_t place) { return std::clamp<int64_t>(place, 0, n - 1); };
      const auto same = [&] { return SamePart(rival, n, probe.p, Random(0, n), Random(0, n)); };
      const auto beside = [&] { return SamePart(rival, n, probe.p, Random(0, 3), Random(0, 3)); };
      const int64_t i = Random(0, 1) == 0 ? Random(0, n) : Random(-3, 3);
      probe.p = Random(0, 1) == 0 ? Random(0, n - 1) : clamp(Boundary(top, n, i) + Random(-1, 1));
      probe.q = Random(0, 2) == 0 ? same() : Random(0, 1) == 0 ? beside() : clamp(probe.p + Random(1, 3));
      if (probe.p == probe.q) continue;
      if (probe.p > probe.q) std::swap(probe.p, probe.q);
      std::set<int64_t> small;
      const size_t wanted = std::min<int64_t>(prober_.small_per_probe(), n - 2);
      int score = 0;
      for (int i = 0; small.size() < wanted && i < 60; ++i) {
        const int64_t place = Random(0, 2) == 0 ? beside() : Random(0, 2) == 0 ? clamp(probe.p - Random(1, 3)) : same();
        if (place == probe.p || place == probe.q || !small.insert(place).second) continue;
        const Prediction foretold = Predict(top, n, probe.p, probe.q, place);
        if (foretold == Prediction::kOpen || Predict(rival, n, probe.p, probe.q, place) != Prediction::kOpen) continue;
        const bool chain = place < probe.q;
        score += (foretold == Prediction::kAbsorbed) != chain ? 100 : 1;
      }
      if (score <= most) continue;
      most = score;
      probe.small.assign(small.begin(), small.end());
      best = std::move(probe);
    }
    return best;
  }

  // Probes that test what only the first hypothesis foretells, against its rivals in turn.
  std::vector<LocalProbe> TestProbes(const std::vector<Hypothesis>& alive, int64_t n, size_t count, size_t turn) {
    std::vector<LocalProbe> probes;
    const size_t rivals = std::min<size_t>(alive.size() - 1, kTestedRivals);
    for (size_t i = 0; rivals > 0 && i < std::max(count, rivals); ++i) {
      LocalProbe probe = OpenProbe(alive[0], alive[1 + (turn + i) % rivals], n);
      if (!probe.small.empty() && probes.size() < count) probes.push_back(std::move(probe));
    }
    return probes;
  }

  // How many groups of equal prediction a probe sorts the hypotheses into.
  static int64_t Groups(const std::vector<Hypothesis>& sample, int64_t n, const LocalProbe& probe) {
    std::set<std::string> groups;
    for (const Hypothesis& h : sample) {
      std::string foretold;
      for (int64_t x : probe.small) foretold.push_back(static_cast<char>(Predict(h, n, probe.p, probe.q, x)));
      groups.insert(std::move(foretold));
    }
    return static_cast<int64_t>(groups.size());
  }

  // Probes that tell the first hypothesis from the others; filled up with random ones. *conflict: whether any does.
  std::vector<LocalProbe> ChooseProbes(const std::vector<Hypothesis>& alive, int64_t n, size_t count, bool* conflict) {
    std::vector<std::pair<int64_t, LocalProbe>> scored;
    const Hypothesis& top = alive[0];
    const size_t rivals = std::min<size_t>(alive.size() - 1, std::max<size_t>(24, count));
    std::vector<Hypothesis> sample;
    for (size_t i = 0; i < rivals; ++i) {
      sample.push_back(alive[alive.size() - 1 <= rivals ? 1 + i : i < rivals / 2 ? 1 + i : Random(1, alive.size() - 1)]);
    }
    for (const Hypothesis& rival : sample) {
      if (scored.size() >= count + 8) break;
      for (int tries = 0; tries < (rivals < 8 ? 300 : 24); ++tries) {
        LocalProbe probe = BoundaryProbe(top, rival, n);
        if (Conflicts(top, rival, n, probe) == 0) continue;
        scored.emplace_back(Groups(sample, n, probe), std::move(probe));
        break;
      }
    }
    *conflict = !scored.empty();
    std::stable_sort(scored.begin(), scored.end(), [](const auto& x, const auto& y) { return x.first > y.first; });
    std::vector<LocalProbe> chosen;
    for (size_t i = 0; i < scored.size() && chosen.size() < (count + 1) / 2; ++i) chosen.push_back(scored[i].second);
    while (chosen.size() < count) {
      const Hypothesis& other = alive[Random(0, static_cast<int64_t>(alive.size()) - 1)];
      chosen.push_back(Random(0, 1) == 0 ? RandomProbe(n) : BoundaryProbe(top, other, n));
    }
    return chosen;
  }

  absl::Status AskLocal(const List& list, const std::vector<LocalProbe>& locals, std::vector<Observation>* seen) {
    std::vector<Probe> probes;
    for (const LocalProbe& local : locals) {
      Probe& probe = probes.emplace_back(Probe{list[local.p], list[local.q], {}});
      for (int64_t x : local.small) probe.small.push_back(list[x]);
    }
    const absl::StatusOr<std::vector<Answer>> answers = prober_.Ask(probes);
    if (!answers.ok()) return answers.status();
    for (size_t i = 0; i < locals.size(); ++i) {
      if (!(*answers)[i].valid) Unexplained("a probe returned what is no sum of its tiny values");
      seen->push_back({locals[i], (*answers)[i].absorbed});
    }
    return absl::OkStatus();
  }

  // Bits of all that was seen that h foretells.
  static int64_t Foretold(const Hypothesis& h, int64_t n, const std::vector<Observation>& seen) {
    int64_t bits = 0;
    for (const Observation& o : seen) {
      for (int64_t x : o.probe.small) bits += Predict(h, n, o.probe.p, o.probe.q, x) != Prediction::kOpen;
    }
    return bits;
  }

  // The hypotheses that agree with `seen`, those that foretell most of it first.
  static void Filter(std::vector<Hypothesis>* alive, int64_t n, const std::vector<Observation>& seen, size_t fresh) {
    std::erase_if(*alive, [&](const Hypothesis& h) {
      return std::any_of(seen.end() - fresh, seen.end(), [&](const Observation& o) { return !Agrees(h, n, o); });
    });
    std::vector<std::pair<int64_t, Hypothesis>> ranked;
    const size_t most = std::min(alive->size(), std::max<size_t>(4096, size_t{4000000} / seen.size()));
    for (size_t i = 0; i < most; ++i) ranked.emplace_back(Foretold((*alive)[i], n, seen), (*alive)[i]);
    std::stable_sort(ranked.begin(), ranked.end(), [](const auto& x, const auto& y) { return x.first > y.first; });
    for (size_t i = 0; i < most; ++i) (*alive)[i] = ranked[i].second;
  }

  // Narrows `alive` by probes on `list`, and says with how many probes; the first that is left is the answer.
  absl::Status Narrow(const List& list, std::vector<Hypothesis>* alive, int64_t* probes) {
    const int64_t n = static_cast<int64_t>(list.size());
    *probes = 0;
    if (n < 3) return absl::OkStatus();
    const size_t batch = prober_.probes_per_launch();
    std::vector<Observation> seen;
    size_t tests = 0;  // of the hypothesis that is first now
    // where a launch has room for few probes, more launches
    const int rounds = std::clamp(kMostProbes / static_cast<int>(batch), kFewestRounds, kMostProbes);
    for (int round = 0; round < rounds; ++round) {
      if (OutOfLaunches()) return absl::OkStatus();
      bool conflict = false;
      std::vector<LocalProbe> chosen = ChooseProbes(*alive, n, batch, &conflict);
      if (round >= 1 && !conflict) {
        if (tests >= 3 * attempt_ * attempt_ * std::min(alive->size() - 1, kTestedRivals)) break;
        chosen = TestProbes(*alive, n, batch, tests);
        if (chosen.empty()) break;
        tests += chosen.size();
      }
      const Hypothesis first = alive->front();
      if (absl::Status status = AskLocal(list, chosen, &seen); !status.ok()) return status;
      if (!result_.reason.empty()) return absl::OkStatus();
      *probes += static_cast<int64_t>(chosen.size());
      Filter(alive, n, seen, chosen.size());
      if (alive->empty()) {
        Unexplained(absl::StrCat("no known cut agrees with the probes of a part of ", n, " elements"));
        return absl::OkStatus();
      }
      if (!(alive->front() == first)) tests = 0;
    }
    return absl::OkStatus();
  }

  int64_t LikelyGroup() const {
    GemmDesc desc = TypesOnly();
    desc.instruction = profile_.instruction;
    desc.instruction_k = 32;
    const absl::StatusOr<Arithmetic> arithmetic = FindArithmetic(desc, box_->sm());
    return arithmetic.ok() && arithmetic->unit ? arithmetic->unit->group : 16;
  }

  GemmDesc TypesOnly() const {
    GemmDesc desc;
    desc.a_type = problem_.a_type, desc.b_type = problem_.b_type;
    desc.accumulate_type = problem_.accumulate_type, desc.output_type = problem_.output_type;
    desc.partial_type = desc.merge_type = desc.accumulate_type;
    return desc;
  }

  bool IsSplit() const { return profile_.kernels > 1 || profile_.workspace_bytes > 0; }

  absl::Status ReadTree() {
    List list(result_.summed_k);
    std::iota(list.begin(), list.end(), 0);
    parts_ = {list};
    HypothesisSpace space{profile_.scalar || !profile_.matrix, profile_.matrix || !profile_.scalar};
    for (size_t level = 0; level < kMaxCuts; ++level) {
      space.rounds = space.scalar && !(level == 0 && IsSplit());
      space.likely_group = LikelyGroup();
      space.most_group = profile_.matrix ? space.likely_group : 64;
      std::vector<Hypothesis> alive = Enumerate(static_cast<int64_t>(parts_[0].size()), space);
      int64_t probes = 0;
      if (absl::Status status = Narrow(parts_[0], &alive, &probes); !status.ok()) return status;
      if (!result_.reason.empty()) return absl::OkStatus();
      Note(absl::StrCat("part of ", parts_[0].size(), ": ", probes, " probes, ", alive.size(), " left: ",
                        ToString(alive[0])));
      if (alive[0].kind == Hypothesis::Kind::kChain) {
        alternatives_.assign(alive.begin() + 1, alive.begin() + std::min<size_t>(alive.size(), 9));
        return ReadChain(alive[0]);
      }
      Descend(alive[0]);
    }
    Unexplained("more than 16 cuts in each other");
    return absl::OkStatus();
  }

  void Descend(const Hypothesis& h) {
    for (const KCut& cut : CutsOf(h, static_cast<int64_t>(parts_[0].size()))) {
      cuts_.push_back(cut);
      std::vector<List> next;
      for (const List& part : parts_) {
        for (List& piece : Split(part, cut)) next.push_back(std::move(piece));
      }
      parts_ = std::move(next);
    }
  }

  // Steps of the loop that give a short turn of `first` (0: none that shows) to a part of n elements.
  static bool GivesTurn(int64_t step, int64_t group, int64_t n, int64_t first) {
    const int64_t turn = step == 0 ? 0 : n % step;
    return first == 0 ? turn % group == 0 : turn == first;
  }

  absl::Status ReadChain(const Hypothesis& h) {
    group_ = h.span;
    const int64_t n = static_cast<int64_t>(parts_[0].size());
    if (group_ == 1) return absl::OkStatus();
    std::vector<int64_t> steps{0};
    for (int64_t i = 1; i <= 256; ++i) steps.push_back(i * group_);
    // nothing shows in a part of at most one group
    if (n > 2) std::erase_if(steps, [&](int64_t step) { return !GivesTurn(step, group_, n, h.count); });
    if (steps.empty()) {
      Unexplained(absl::StrCat("a short turn of ", h.count, " elements fits no step of a loop"));
      return absl::OkStatus();
    }
    std::map<int64_t, const List*> lengths;
    for (const List& part : parts_) lengths.emplace(static_cast<int64_t>(part.size()), &part);
    for (const auto& [length, part] : lengths) {
      if (length != n && length > 2) {
        if (absl::Status status = ReadTurn(*part, &steps); !status.ok()) return status;
        if (!result_.reason.empty()) return absl::OkStatus();
      }
    }
    step_ = steps[0];
    return absl::OkStatus();
  }

  absl::Status ReadTurn(const List& part, std::vector<int64_t>* steps) {
    const int64_t n = static_cast<int64_t>(part.size());
    std::set<int64_t> turns;
    for (int64_t step : *steps) turns.insert(step == 0 || n % step % group_ == 0 ? 0 : n % step);
    if (turns.size() < 2) return absl::OkStatus();
    std::vector<Hypothesis> alive;
    for (int64_t turn : turns) alive.push_back({Hypothesis::Kind::kChain, MergeOrder::kAscending, group_, turn});
    int64_t probes = 0;
    if (absl::Status status = Narrow(part, &alive, &probes); !status.ok()) return status;
    if (!result_.reason.empty()) return absl::OkStatus();
    Note(absl::StrCat("part of ", n, ": ", probes, " probes: ", ToString(alive[0])));
    std::erase_if(*steps, [&](int64_t step) { return !GivesTurn(step, group_, n, alive[0].count); });
    if (steps->empty()) Unexplained("the short turns of parts of different lengths fit no step of a loop");
    return absl::OkStatus();
  }

  // --- elimination and validation ---

  GemmDesc BaseDesc() const {
    GemmDesc desc = TypesOnly();
    desc.instruction = group_ == 1 ? Instruction::kFma : profile_.instruction;
    if (group_ == 1 && profile_.matrix) desc.instruction = profile_.instruction;
    desc.instruction_k = group_;
    desc.k_loop_step = step_;
    desc.short_turn = step_ == 0 ? ShortTurn::kLast : ShortTurn::kFirst;
    desc.k_cuts = cuts_;
    const bool strided = std::any_of(cuts_.begin(), cuts_.end(),
                                     [](const KCut& cut) { return cut.layout == CutLayout::kStrided; });
    desc.family = cuts_.empty() ? Family::kPlain : IsSplit() ? Family::kSplitK : strided ? Family::kGemv : Family::kChained;
    return desc;
  }

  // An innermost run of spans under one matrix accumulator is a promotion, where no split explains it.
  static void NamePromotion(GemmDesc* desc) {
    if (IsScalar(desc->instruction) || desc->k_cuts.empty() || desc->short_turn == ShortTurn::kFirst) return;
    if (desc->family == Family::kSplitK && desc->k_cuts.size() == 1) return;
    const KCut& cut = desc->k_cuts.back();
    if (cut.layout != CutLayout::kContiguous || cut.order != MergeOrder::kAscending) return;
    if (cut.span % desc->instruction_k != 0) return;
    desc->use_fast_accum = false;
    desc->promotion_interval = cut.span;
    desc->k_cuts.pop_back();
    if (desc->k_cuts.empty()) desc->family = Family::kPlain;
  }

  std::vector<GemmDesc> Candidates() const {
    GemmDesc base = BaseDesc();
    NamePromotion(&base);
    std::vector<GemmDesc> candidates{base};
    if (base.instruction == Instruction::kFma && base.a_type == FormatId::kF32) {
      candidates.push_back(base);
      candidates.back().instruction = Instruction::kMulAdd;
    }
    AddScalarAlternatives(base, &candidates);
    AddLaneSums(&candidates);
    AddRoundedParts(base, &candidates);
    return candidates;
  }

  // In how many sums lanes add: few probes ask for the few parts that tell.
  static void AddLaneSums(std::vector<GemmDesc>* candidates) {
    for (size_t i = candidates->size(); i-- > 0;) {
      for (size_t c = 0; c < (*candidates)[i].k_cuts.size(); ++c) {
        const KCut cut = (*candidates)[i].k_cuts[c];
        if (LaneSums(cut.order) == 0 || cut.count <= 128) continue;
        for (MergeOrder order : {MergeOrder::kLanes, MergeOrder::kLanes4, MergeOrder::kLanes8}) {
          if (order == cut.order) continue;
          candidates->push_back((*candidates)[i]);
          candidates->back().k_cuts[c].order = order;
        }
      }
    }
  }

  // The types that parts and their sum may have.
  static void AddRoundedParts(const GemmDesc& base, std::vector<GemmDesc>* candidates) {
    if (base.k_cuts.empty() || base.output_type == base.accumulate_type) return;
    std::vector<GemmDesc> shapes{base};
    AddOuterAlternative(base, &shapes);
    const FormatId wide = base.accumulate_type, narrow = base.output_type;
    for (const GemmDesc& shape : shapes) {
      for (const auto& [partial, merge] :
           {std::pair{wide, wide}, {narrow, wide}, {wide, narrow}, {narrow, narrow}}) {
        candidates->push_back(shape);
        candidates->back().family = Family::kSplitK;
        candidates->back().partial_type = partial;
        candidates->back().merge_type = merge;
      }
    }
  }

  // Other readings of an innermost part that agree with all probes: what they say differs in rounding alone, as where
  // a last group of one product could as well be a part of its own.
  std::vector<GemmDesc> Alternatives() const {
    std::vector<GemmDesc> candidates;
    const int64_t n = static_cast<int64_t>(parts_[0].size());
    for (const Hypothesis& h : alternatives_) {
      GemmDesc desc = BaseDesc();
      if (h.kind == Hypothesis::Kind::kChain) {
        if (h.span == 1 || IsScalar(desc.instruction)) continue;
        desc.instruction_k = h.span;
        desc.short_turn = h.count > 0 ? ShortTurn::kFirst : ShortTurn::kLast;
        desc.k_loop_step = h.count > 0 ? (h.count / h.span + 1) * h.span : 0;
        while (h.count > 0 && desc.k_loop_step < n && n % desc.k_loop_step != h.count) desc.k_loop_step += h.span;
      } else {
        for (const KCut& cut : CutsOf(h, n)) desc.k_cuts.push_back(cut);
        if (desc.family == Family::kPlain) desc.family = IsSplit() ? Family::kSplitK : Family::kChained;
      }
      if (!Validate(desc, result_.summed_k).ok()) continue;
      candidates.push_back(desc);
      AddRoundedParts(desc, &candidates);
    }
    return candidates;
  }

  // What the tree cannot tell where products are not exact: whether the last product of a part is rounded before it
  // is added.
  void AddScalarAlternatives(const GemmDesc& base, std::vector<GemmDesc>* candidates) const {
    if (group_ != 1 || base.a_type == FormatId::kF16) return;
    const auto add = [&](GemmDesc desc) {
      if (desc.k_cuts.empty()) desc.family = Family::kPlain;
      if (!desc.k_cuts.empty() && desc.family == Family::kPlain) desc.family = Family::kChained;
      if (Validate(desc, result_.summed_k).ok()) candidates->push_back(std::move(desc));
    };
    for (const Hypothesis& h : alternatives_) {
      if (h.kind == Hypothesis::Kind::kChain) continue;
      GemmDesc other = base;
      for (const KCut& cut : CutsOf(h, static_cast<int64_t>(parts_[0].size()))) other.k_cuts.push_back(cut);
      add(std::move(other));
    }
    GemmDesc other = base;
    for (int i = 0; i < 3 && !other.k_cuts.empty(); ++i) {
      other.k_cuts.pop_back();
      add(other);
    }
  }

  // Equal spans added in ascending order are also fewer parts of which the first is cut again; where the outermost
  // parts are rounded, these differ.
  static void AddOuterAlternative(const GemmDesc& base, std::vector<GemmDesc>* shapes) {
    const KCut& cut = base.k_cuts[0];
    if (cut.layout != CutLayout::kContiguous || cut.count < 3 || cut.order != MergeOrder::kAscending) return;
    GemmDesc other = base;
    other.k_cuts[0] = {CutLayout::kContiguous, cut.span * (cut.count - 1), 2};
    other.k_cuts.insert(other.k_cuts.begin() + 1, {CutLayout::kContiguous, cut.span, cut.count - 1});
    shapes->push_back(other);
    // balanced: the first part holds two of the spans
    other.k_cuts[0] = {CutLayout::kBalanced, cut.span, cut.count - 1};
    other.k_cuts[1] = {CutLayout::kContiguous, cut.span, 2};
    shapes->push_back(std::move(other));
  }

  struct Candidate {
    GemmDesc desc;
    Plan plan;
    int64_t mismatches = 0;
    std::optional<Mismatch> first;
  };

  absl::StatusOr<std::vector<uint64_t>> Foretell(const Draw& draw, const Candidate& candidate) const {
    const bool scalar = !candidate.plan.arithmetic.unit.has_value();
    const Operand a(problem_.a_type, draw.a.index.size(), problem_.k, draw.a.patterns, scalar);
    const Operand b(problem_.b_type, draw.b.index.size(), problem_.k, draw.b.patterns, scalar);
    return Finish(candidate.desc, Accumulate(candidate.plan, a, b, draw.outputs, options_.threads), draw.outputs, {});
  }

  absl::Status Compare(const Draw& draw, Candidate* candidate) {
    const absl::StatusOr<std::vector<uint64_t>> own = Foretell(draw, *candidate);
    if (!own.ok()) return own.status();
    for (size_t i = 0; i < own->size(); ++i) {
      if ((*own)[i] == draw.library[i]) continue;
      ++candidate->mismatches;
      const Output& o = draw.outputs[i];
      if (!candidate->first) {
        candidate->first = Mismatch{{draw.a.index[o.row], draw.b.index[o.column]}, (*own)[i], draw.library[i]};
      }
    }
    return absl::OkStatus();
  }

  // How rows are drawn on which two candidates may differ.
  enum class Rows { kDrawn, kCancelling, kTies, kEdges, kEdgesOfNode, kPairsOfNode };

  // Which to draw in turn, what tells most first.
  std::vector<Rows> RowsToTry(FormatId varying_type) const {
    const bool edges = group_ == 1 && (problem_.a_type == FormatId::kBf16 || problem_.a_type == FormatId::kF32);
    const bool wide = FormatOf(varying_type).exponent_bits >= 5 && FormatOf(varying_type).bits > 8;
    if (edges) return {Rows::kEdgesOfNode, Rows::kPairsOfNode, Rows::kEdges, Rows::kDrawn, Rows::kEdgesOfNode, Rows::kPairsOfNode,
                       Rows::kEdges, Rows::kCancelling, Rows::kEdgesOfNode, Rows::kPairsOfNode, Rows::kEdges, Rows::kTies};
    if (wide) return {Rows::kPairsOfNode, Rows::kDrawn, Rows::kCancelling, Rows::kTies};
    return {Rows::kDrawn, Rows::kCancelling, Rows::kTies};
  }

  // For each step of a plan the first and last place in `order` of what it sums.
  static std::vector<std::pair<int64_t, int64_t>> RangesOf(const Plan& plan) {
    std::vector<std::pair<int64_t, int64_t>> ranges, stack;
    for (const PlanStep& step : plan.steps) {
      if (step.kind == PlanStep::Kind::kChain) stack.emplace_back(plan.group_begin[step.begin], plan.group_begin[step.end] - 1);
      if (step.kind == PlanStep::Kind::kAdd) {
        const auto right = stack.back();
        stack.pop_back();
        stack.back() = {std::min(stack.back().first, right.first), std::max(stack.back().second, right.second)};
      }
      ranges.push_back(stack.back());
    }
    return ranges;
  }

  // A row whose few values, in this order, lie at places that one step of the plan sums, so that they meet early.
  void PutUnderOneStep(const Plan& plan, const std::vector<std::pair<int64_t, int64_t>>& ranges, const std::vector<uint64_t>& values, bool ordered,
                       uint64_t* row) {
    const int64_t wanted = static_cast<int64_t>(values.size());
    std::pair<int64_t, int64_t> range{0, 0};
    for (int tries = 0; tries < 32 && range.second - range.first + 1 < wanted; ++tries) range = ranges[Random(0, std::ssize(ranges) - 1)];
    if (range.second - range.first + 1 < wanted) return;
    std::vector<int64_t> places;
    while (std::ssize(places) < wanted) {
      const int64_t place = Random(range.first, range.second);
      if (std::find(places.begin(), places.end(), place) == places.end()) places.push_back(place);
    }
    if (ordered) std::sort(places.begin(), places.end());
    for (int64_t i = 0; i < wanted; ++i) row[plan.order[places[i]]] = values[i];
  }

  // Rows of values that meet early in one of the plans: of kPairsOfNode L, -L and a value that an L absorbs, of
  // kEdgesOfNode those of DrawEdgePatterns.
  std::vector<uint64_t> RowsOfNodes(Rows kind, FormatId type, int64_t rows, const Candidate& x, const Candidate& y) {
    const int large = type == FormatId::kF64 ? 40 : 14;
    const uint64_t sign = FormatOf(type).sign_mask();
    std::vector<uint64_t> values{PowerOfTwo(type, large), PowerOfTwo(type, large) | sign, PowerOfTwo(type, -large)};
    if (kind == Rows::kEdgesOfNode) values = {PowerOfTwo(type, 63) | sign, PowerOfTwo(type, 64)};
    const std::vector<std::pair<int64_t, int64_t>> ranges[] = {RangesOf(x.plan), RangesOf(y.plan)};
    std::vector<uint64_t> patterns(rows * problem_.k, 0);
    for (int64_t row = 0; row < rows; ++row)
      PutUnderOneStep(row % 2 == 0 ? x.plan : y.plan, ranges[row % 2], values, kind == Rows::kEdgesOfNode, &patterns[row * problem_.k]);
    return patterns;
  }

  std::vector<uint64_t> DrawRows(Rows kind, FormatId type, int64_t rows, int64_t draw, const Candidate& x, const Candidate& y) {
    const int64_t k = problem_.k;
    switch (kind) {
      case Rows::kDrawn:
        return DrawPatterns(type, rows * k, random_(), static_cast<int>(draw));
      case Rows::kCancelling:
        return DrawCancellingPatterns(type, k, rows, random_());
      case Rows::kTies:
        return DrawTiePatterns(type, problem_.output_type, k, rows, random_());
      case Rows::kEdges:
        return DrawEdgePatterns(type, k, rows, random_());
      case Rows::kEdgesOfNode:
      case Rows::kPairsOfNode:
        break;
    }
    return RowsOfNodes(kind, type, rows, x, y);
  }

  // Operands on which the candidates x and y differ, found without the library; without outputs where none are found.
  absl::StatusOr<Draw> FindSeparating(const Candidate& x, const Candidate& y) {
    const bool rows_vary = problem_.m >= problem_.n;
    const int64_t rows = std::min<int64_t>(rows_vary ? problem_.m : problem_.n, 32), k = problem_.k;
    const FormatId varying_type = rows_vary ? problem_.a_type : problem_.b_type;
    const FormatId fixed_type = rows_vary ? problem_.b_type : problem_.a_type;
    const std::vector<Rows> kinds = RowsToTry(varying_type);
    const int64_t tries = std::clamp<int64_t>((int64_t{1} << 22) / (rows * k), std::ssize(kinds), 512);
    for (int64_t i = 0; i < tries; ++i) {
      const Rows kind = kinds[i % std::ssize(kinds)];
      Draw draw;
      SparseRows& varying = rows_vary ? draw.a : draw.b;
      SparseRows& fixed = rows_vary ? draw.b : draw.a;
      varying.index.resize(rows);
      std::iota(varying.index.begin(), varying.index.end(), 0);
      fixed.index = {(rows_vary ? problem_.n : problem_.m) - 1};
      varying.patterns = DrawRows(kind, varying_type, rows, i, x, y);
      const bool edge = kind == Rows::kEdges || kind == Rows::kEdgesOfNode;
      fixed.patterns = DrawPatterns(fixed_type, k, random_(), static_cast<int>(i));
      if (kind != Rows::kDrawn) fixed.patterns.assign(k, PowerOfTwo(fixed_type, edge ? 64 : 0));
      draw.outputs = rows_vary ? Grid(rows, 1) : Grid(1, rows);
      const absl::StatusOr<std::vector<uint64_t>> of_x = Foretell(draw, x), of_y = Foretell(draw, y);
      if (!of_x.ok()) return of_x.status();
      if (!of_y.ok()) return of_y.status();
      std::vector<Output> differing;
      for (size_t j = 0; j < draw.outputs.size(); ++j) {
        if ((*of_x)[j] != (*of_y)[j]) differing.push_back(draw.outputs[j]);
      }
      if (differing.empty()) continue;
      draw.outputs = std::move(differing);
      return draw;
    }
    return Draw{};
  }

  static uint64_t PowerOfTwo(FormatId type, int exponent) {
    const double value = std::ldexp(1.0, exponent);
    return ConvertFloat(FormatOf(type), softfloat::kF64, std::bit_cast<uint64_t>(value), softfloat::Rounding::kRn);
  }

  // Parts the candidates that are left by operands chosen for it, as far as such are found.
  absl::Status Separate(std::vector<Candidate>& candidates) {
    for (int round = 0; round < 20; ++round) {
      std::vector<Candidate*> left;
      for (Candidate& candidate : candidates) {
        if (candidate.mismatches == 0) left.push_back(&candidate);
      }
      absl::StatusOr<Draw> draw = Draw{};
      for (size_t i = 1; i < left.size() && draw->outputs.empty(); ++i) {
        draw = FindSeparating(*left[0], *left[i]);
        if (!draw.ok()) return draw.status();
      }
      if (draw->outputs.empty()) return absl::OkStatus();
      if (absl::Status status = Ask(&*draw); !status.ok()) return status;
      result_.outputs_compared += static_cast<int64_t>(draw->outputs.size());
      for (Candidate* candidate : left) {
        if (absl::Status status = Compare(*draw, candidate); !status.ok()) return status;
      }
    }
    return absl::OkStatus();
  }

  // Compiles those that are not known yet. Arithmetic that is not established is left out.
  absl::Status AddCandidates(std::vector<GemmDesc> descs, std::vector<Candidate>* candidates) {
    for (GemmDesc& desc : descs) {
      absl::StatusOr<Plan> plan = CompileDefective(desc, problem_.k, result_.summed_k, box_->sm());
      if (absl::IsUnimplemented(plan.status())) {
        not_established_ = std::string(plan.status().message());
        continue;
      }
      if (!plan.ok()) return plan.status();
      const Digest128 digest = DigestOf(*plan);
      if (known_.insert({digest.hi, digest.lo}).second) candidates->push_back({std::move(desc), *std::move(plan)});
    }
    return absl::OkStatus();
  }

  static int64_t Survivors(const std::vector<Candidate>& candidates) {
    return std::count_if(candidates.begin(), candidates.end(), [](const Candidate& c) { return c.mismatches == 0; });
  }

  absl::Status CompareAll(const Draw& draw, std::vector<Candidate>& candidates) {
    for (Candidate& candidate : candidates) {
      if (candidate.mismatches > 0 && Survivors(candidates) > 0) continue;
      if (absl::Status status = Compare(draw, &candidate); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status Eliminate() {
    std::vector<Candidate> candidates;
    if (absl::Status status = AddCandidates(Candidates(), &candidates); !status.ok()) return status;
    if (parts_[0].size() <= kShortPart) {  // few roundings: another reading may reproduce every draw
      if (absl::Status status = AddCandidates(Alternatives(), &candidates); !status.ok()) return status;
    }
    if (candidates.empty()) {
      result_.desc = BaseDesc();
      Unexplained(not_established_);
      return absl::OkStatus();
    }
    std::vector<Draw> draws;
    for (int i = 0; i < options_.draws; ++i) {
      absl::StatusOr<Draw> draw = Launch(i, false);
      if (!draw.ok()) return draw.status();
      result_.outputs_compared += static_cast<int64_t>(draw->outputs.size());
      if (absl::Status status = CompareAll(*draw, candidates); !status.ok()) return status;
      draws.push_back(*std::move(draw));
    }
    if (Survivors(candidates) == 0) {
      std::vector<Candidate> others;
      if (absl::Status status = AddCandidates(Alternatives(), &others); !status.ok()) return status;
      for (const Draw& draw : draws) {
        if (absl::Status status = CompareAll(draw, others); !status.ok()) return status;
      }
      for (Candidate& other : others) candidates.push_back(std::move(other));
    }
    draws.clear();
    if (absl::Status status = Separate(candidates); !status.ok()) return status;
    return Choose(candidates, Survivors(candidates));
  }

  absl::Status Choose(std::vector<Candidate>& candidates, int64_t survivors) {
    Candidate& best = *std::min_element(candidates.begin(), candidates.end(), [](const auto& x, const auto& y) {
      return x.mismatches < y.mismatches;
    });
    result_.desc = best.desc;
    result_.mismatch = best.first;  // none where it was reproduced
    Note(absl::StrCat(candidates.size(), " candidates, ", survivors, " reproduce ", result_.outputs_compared,
                      " outputs of ", draws_, " draws"));
    if (survivors == 0) Unexplained(kNotReproduced);
    return absl::OkStatus();
  }

  BlackBox* const box_;
  const GemmProblem problem_;
  const RecoveryOptions options_;
  Prober prober_;
  std::mt19937_64 random_;
  CallProfile profile_;
  Recovery result_;
  int64_t draws_ = 0;
  size_t attempt_ = 1;
  std::vector<KCut> cuts_;
  std::vector<List> parts_;  // innermost so far
  std::vector<Hypothesis> alternatives_;  // that agree with all probes of an innermost part, too
  int64_t group_ = 1, step_ = 0;
  std::set<std::pair<uint64_t, uint64_t>> known_;  // plans of candidates
  std::string not_established_;
};

}  // namespace

absl::StatusOr<Plan> CompileDefective(const GemmDesc& desc, int64_t k, int64_t summed_k, int sm) {
  absl::StatusOr<Plan> plan = Compile(desc, summed_k, sm);
  if (plan.ok()) plan->k = k;
  return plan;
}

absl::StatusOr<Recovery> Recover(BlackBox* box, const GemmProblem& problem, const RecoveryOptions& options) {
  return Investigation(box, problem, options).Run();
}

}  // namespace samebits::gemm
