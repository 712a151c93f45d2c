// Which arguments that the launch leaves open a reason comes from, where it speaks of data.

#include <unordered_set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "core/symexec/machine.h"

namespace samebits::symexec {

using expr::Fn;
using expr::NodeId;
using isa::OperandKind;

namespace {

// Nodes looked at for arguments among them; expressions beyond it count as data.
constexpr size_t kMaxVisited = 100'000;
constexpr int kMaxFactors = 8;

std::string Names(const std::set<size_t>& arguments, bool grid) {
  std::string out;
  if (!arguments.empty()) out = absl::StrCat(arguments.size() == 1 ? "argument " : "arguments ", absl::StrJoin(arguments, ", "));
  if (grid) absl::StrAppend(&out, out.empty() ? "" : " and ", "the grid");
  return out;
}

}  // namespace

void Machine::FindOpenAtom(AtomId id, int depth, Openness* found) const {
  if (id < kFirstParamAtom) {
    found->grid = true;
  } else if (id < kFirstDerivedAtom) {
    found->arguments.insert(id - kFirstParamAtom);
  } else {
    const Atom* const atom = symbolic_.atom(id);
    if (atom == nullptr || depth >= kMaxFactors || (atom->factors.empty() && atom->lanes == 0)) {
      found->data = true;
      return;
    }
    if (atom->lanes != 0) FindOpenAtom(atom->of, depth + 1, found);
    for (const AtomId factor : atom->factors) FindOpenAtom(factor, depth + 1, found);
  }
}

void Machine::FindOpenTerms(SymbolicId id, Openness* found) const {
  for (const auto& [atom, factor] : symbolic_[id].terms) FindOpenAtom(atom, 0, found);
}

// What one expression is made of beside its anchors and what was `seen` before.
void Machine::FindOpenLeaves(NodeId root, std::unordered_set<NodeId>* seen, Openness* found) const {
  std::vector<NodeId> work;
  const auto visit = [&](NodeId id) {
    if (seen->size() > kMaxVisited) found->data = true;
    else if (seen->insert(id).second) work.push_back(id);
  };
  visit(root);
  while (!work.empty()) {
    const NodeId id = work.back();
    work.pop_back();
    const expr::Node& node = nodes_[id];
    if (node.fn == Fn::kParam) found->arguments.insert(node.attr);
    if (node.fn == Fn::kUndef) found->data = true;
    if (node.children == 0) continue;
    expr::ChildRef child = nodes_.child(id, 0);
    for (int i = 0; i < node.children; ++i) {
      if (i > 0) child = child.next();
      visit(child.node);
    }
  }
}

void Machine::FindOpen(const Lanes& v, Openness* found) const {
  std::unordered_set<NodeId> seen;
  for (int l = 0; l < space_.lanes(); ++l) {
    if (exec_ != kNoLanes && !space_.Test(exec_, l)) continue;
    const expr::Scalar s = ops_.At(v, l);
    for (int i = 0; i < s.slots; ++i) {
      if (s.anchor[i].buffer != expr::kIntBuffer) found->data = true;
      else FindOpenTerms(s.anchor[i].symbolic, found);
    }
    FindOpenLeaves(s.node, &seen, found);
  }
}

void Machine::FindOpen(uint32_t reg, bool integers, Openness* found) const {
  const size_t r = size_t{first_register_} + reg;
  if (r >= registers_.size()) return;
  const Value& v = registers_[r];
  if (integers && v.is_int()) FindOpenTerms(v.symbolic, found);
  if (v.is_bits())
    for (const Piece& p : v.pieces) FindOpen(p.lanes, found);
}

// Of the instruction that the machine is at: its guard, the conditions of the branches around it, its addresses, and
// what it takes beside what it stores.
Machine::Openness Machine::FindOpenHere(std::string_view code) const {
  Openness found;
  if (decisions_.size() != static_cast<size_t>(data_depth_)) found.data = true;  // in a loop of open length
  for (const Lanes* condition : decisions_) FindOpen(*condition, &found);
  const bool integers = code == "OPEN_SIZE";
  if (current_->guard != isa::kNone32) FindOpen(current_->guard, false, &found);
  if (absl::EndsWith(absl::string_view(code.data(), code.size()), "_IN_BRANCH")) return found;
  for (uint32_t i = 0; i < current_->operand_count; ++i) {
    const Operand& op = Op(*current_, static_cast<int>(i));
    const bool source = op.kind == OperandKind::kRegister && i > 0 && code != "STORE_ON_DATA";
    if ((op.kind == OperandKind::kAddress || source) && op.reg != isa::kNone32) FindOpen(op.reg, integers, &found);
  }
  return found;
}

void Machine::NameWhatIsOpen(Stop* stop) const {
  const absl::string_view code = stop->code;
  const bool on_data = absl::EndsWith(code, "_ON_DATA") || absl::EndsWith(code, "_IN_BRANCH");
  if ((!on_data && code != "OPEN_SIZE") || module_.amdgcn != nullptr || current_ == nullptr || function_ == nullptr) return;
  const Openness found = FindOpenHere(stop->code);
  if (found.arguments.empty() && !found.grid) return;
  const std::string open = absl::StrCat(Names(found.arguments, found.grid), ", which the launch leaves open");
  if (!on_data) {
    absl::StrAppend(&stop->reason, ": ", open);
  } else if (found.data) {
    absl::StrAppend(&stop->reason, "; it depends on ", Names(found.arguments, found.grid), ", too, which the launch leaves open");
  } else {
    stop->code = "OPEN_ARGUMENT";
    std::string named = absl::StrReplaceAll(stop->reason, {{"loaded data ", absl::StrCat(open, ", ")}, {"loaded data", open}});
    if (named == stop->reason) absl::StrAppend(&named, "; it depends on ", open);
    stop->reason = std::move(named);
  }
}

}  // namespace samebits::symexec
