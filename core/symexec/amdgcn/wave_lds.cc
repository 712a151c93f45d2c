// What LDS instructions read and write, for all lanes at once where one instruction wrote what they read.

#include <algorithm>

#include "core/symexec/amdgcn/wave_machine.h"

namespace samebits::symexec {

using expr::Fn;
using expr::Scalar;

namespace {
constexpr size_t kMaxWriters = 8;       // instructions whose values one read joins as wholes
constexpr size_t kMostAccesses = 1024;  // kept
}  // namespace

const std::vector<uint16_t>& WaveMachine::LanesOf(MaskId mask) {
  if (lane_list_mask_ == mask && !lane_list_.empty()) return lane_list_;
  lane_list_mask_ = mask;
  lane_list_.clear();
  for (int l = 0; l < space_.lanes(); ++l)
    if (space_.Test(mask, l)) lane_list_.push_back(static_cast<uint16_t>(l));
  return lane_list_;
}

bool WaveMachine::LdsAccessAt(const Value& address, uint32_t bytes, LdsAccess** out) {
  Value known = address;
  if (!AsInt(&known) || known.symbolic != 0) {
    std::vector<int64_t> none;
    return LaneAddresses(address, bytes, shared_bytes_, "LDS", &none) && Unmodelled64();  // says why not
  }
  std::unique_ptr<LdsAccess>& access = lds_accesses_[{known.array, static_cast<uint32_t>(known.constant), exec_, bytes}];
  if (access == nullptr) {
    auto fresh = std::make_unique<LdsAccess>();
    // Twelve bytes need the alignment of four.
    if (!LaneAddresses(address, bytes == 12 ? 4 : bytes, shared_bytes_, "LDS", &fresh->addresses)) return false;
    if (bytes == 12 && !LaneAddresses(address, 4, shared_bytes_ - std::min(shared_bytes_, 8u), "LDS", &fresh->addresses)) return false;
    fresh->lanes = LanesOf(exec_);
    access = std::move(fresh);
  }
  *out = access.get();
  return true;
}

void WaveMachine::ForgetLdsAccesses() {
  if (lds_accesses_.size() < kMostAccesses) return;
  lds_.Flush();
  lds_written_.clear();
  lds_accesses_.clear();
}

bool WaveMachine::LdsWrite(LdsAccess* access, uint32_t at, uint32_t bytes, const Value& value) {
  absl::InlinedVector<Piece, 4> pieces;
  if (!ToPieces(value, static_cast<int>(bytes) * 8, &pieces)) return false;
  const bool fine = std::any_of(pieces.begin(), pieces.end(), [&](const Piece& p) { return p.bits % (8 * lds_.granule()) != 0; });
  if (fine) {
    // Pieces below the unit of LDS join their neighbours first.
    Lanes joined;
    if (!ToLanes(value, static_cast<int>(bytes) * 8, &joined)) return false;
    pieces.assign(1, {std::move(joined), static_cast<uint8_t>(bytes * 8)});
  }
  for (Piece& p : pieces) {
    const uint32_t size = p.bits / 8u;
    Lds::Written* const written = &access->written[at];
    ops_.Settle(&p.lanes);
    if (!lds_.Rewrite(*written, size, p.lanes, shared_)) {
      const auto race = lds_.Write(access->lanes, access->addresses.data(), at, size, p.lanes, ops_, shared_, written);
      if (race != Lds::Race::kNone) return Conflict(race);
      if (lds_written_.size() <= written->record) lds_written_.resize(written->record + 1);
      lds_written_[written->record] = written;
    }
    at += size;
  }
  return true;
}

// Adds to `plan` where `bytes` bytes from `at` bytes behind each lane's address come from: whole from few writes. False:
// they do not.
bool WaveMachine::PlanPart(const LdsAccess& access, uint32_t at, uint32_t bytes, LdsPlan* plan) {
  struct Writer {
    uint32_t record;
    uint16_t offset, first;
    std::array<uint64_t, 16> lanes;
  };
  absl::InlinedVector<Writer, kMaxWriters> writers;
  const size_t count = static_cast<size_t>(space_.lanes());
  std::vector<uint16_t> source(count, 0xffff);
  size_t w = 0;
  for (const uint16_t l : access.lanes) {
    Lds::Place p;
    if (!lds_.From(static_cast<uint32_t>(access.addresses[l]) + at, bytes, &p)) return false;
    if (w >= writers.size() || writers[w].record != p.record || writers[w].offset != p.offset) {
      for (w = 0; w < writers.size() && (writers[w].record != p.record || writers[w].offset != p.offset);) ++w;
      if (w == kMaxWriters) return false;
      if (w == writers.size()) writers.push_back({p.record, p.offset, p.source, {}});
    }
    source[l] = p.source;
    writers[w].lanes[l / 64] |= uint64_t{1} << (l % 64);
  }
  // What lanes that do not read have here, nobody uses.
  if (access.lanes.size() < count) std::replace(source.begin(), source.end(), uint16_t{0xffff}, writers[0].first);
  const PermId perm = space_.InternPerm(source.data());
  for (const Writer& writer : writers) {
    LdsPlan::Source s;
    s.offset = writer.offset;
    s.perm = perm;
    if (writers.size() > 1) s.lanes = space_.InternMask(writer.lanes.data());
    s.record = writer.record;
    s.bytes = lds_.bytes(writer.record);
    s.written = writer.record < lds_written_.size() ? lds_written_[writer.record] : nullptr;
    if (s.written == nullptr || !lds_.Stands(*s.written) || s.written->record != writer.record) s.written = nullptr, plan->lasts = false;
    plan->sources.push_back(s);
  }
  plan->part_ends.push_back(static_cast<uint32_t>(plan->sources.size()));
  return true;
}

// False: some lane's bytes come from too many writes.
bool WaveMachine::PlanRead(const LdsAccess& access, uint32_t at, uint32_t bytes, LdsPlan* plan) {
  for (uint32_t parts = 1; parts <= bytes / lds_.granule(); parts *= 2) {
    *plan = {};
    plan->part_bytes = bytes / parts;
    uint32_t i = 0;
    while (i < parts && PlanPart(access, at + i * plan->part_bytes, plan->part_bytes, plan)) ++i;
    if (i == parts) return true;
  }
  *plan = {};
  return false;
}

// Takes the writes that stand now for those that the plan was made for. False: some do not.
bool WaveMachine::Renew(LdsPlan* plan) {
  if (!plan->lasts || plan->sources.empty()) return false;
  for (LdsPlan::Source& s : plan->sources) {
    if (!lds_.Stands(*s.written) || lds_.bytes(s.written->record) != s.bytes) return false;
    s.record = s.written->record;
  }
  return true;
}

bool WaveMachine::ReadByPlan(const LdsPlan& plan, Lanes* out) {
  absl::InlinedVector<Lanes, 4> parts(plan.part_ends.size());
  const int bits = static_cast<int>(plan.part_bytes) * 8;
  uint64_t widths = 0;
  for (size_t i = 0, s = 0; i < parts.size(); ++i) {
    const size_t first = s;
    for (; s < plan.part_ends[i]; ++s) {
      const LdsPlan::Source& source = plan.sources[s];
      Lanes own;
      if (source.record == Lds::kNothing) {
        own.nodes = nodes_.Undef();
      } else {
        own = ops_.Permute(lds_.value(source.record), source.perm);
        if (source.offset != 0 || lds_.bytes(source.record) != plan.part_bytes) {
          const Lanes whole = own;
          const Lanes* operand = &whole;
          if (!ops_.Apply(Fn::kExtract, source.offset * 8u, bits, {&operand, 1}, &own)) return OutOfAnchors();
        }
      }
      if (s == first) {
        parts[i] = std::move(own);
        continue;
      }
      const Lanes before = parts[i];
      if (!ops_.Blend(source.lanes, own, before, &parts[i])) return OutOfAnchors();
    }
    widths |= static_cast<uint64_t>(bits) << (8 * i);
  }
  if (parts.size() == 1) {
    *out = std::move(parts[0]);
    return true;
  }
  absl::InlinedVector<const Lanes*, 4> operands;
  for (const Lanes& p : parts) operands.push_back(&p);
  return ops_.Apply(Fn::kConcat, widths, bits * static_cast<int>(parts.size()), operands, out) || OutOfAnchors();
}

// Lane by lane, where one lane's bytes come from several writes.
bool WaveMachine::LdsReadLanes(const LdsAccess& access, uint32_t at, uint32_t bytes, Lanes* out) {
  std::vector<Scalar> lanes(space_.lanes());
  for (Scalar& s : lanes) s.node = nodes_.Undef();
  std::vector<SharedMemory::Fragment> fragments;
  std::vector<StoredScalar> values(bytes);  // of the fragments
  for (const uint16_t l : access.lanes) {
    const uint32_t address = static_cast<uint32_t>(access.addresses[l]) + at;
    Lds::Place last;
    if (moves_ == nullptr && lds_.From(address, bytes, &last) && last.record != Lds::kNothing && last.offset == 0 &&
        lds_.bytes(last.record) == bytes) {
      lanes[l] = ops_.At(lds_.value(last.record), last.source);
      continue;
    }
    fragments.clear();
    for (uint32_t part = 0; part < bytes; part += lds_.granule()) {
      Lds::Place p;
      lds_.From(address + part, lds_.granule(), &p);
      const bool follows = !fragments.empty() && p.record == last.record && p.source == last.source &&
                           (p.record == Lds::kNothing || p.offset == fragments.back().offset + fragments.back().bytes);
      if (follows) {
        fragments.back().bytes += lds_.granule();
        continue;
      }
      last = p;
      StoredScalar& value = values[fragments.size()];
      const bool written = p.record != Lds::kNothing;
      if (written) value = ops_.At(lds_.value(p.record), p.source);
      fragments.push_back({written ? &value : nullptr, p.offset, lds_.granule(), lds_.bytes(p.record), p.source, 0});
    }
    if (!FragmentsToScalar(fragments, bytes, &lanes[l])) return false;
    if (moves_ == nullptr) continue;
    for (const auto& f : fragments)
      if (f.value != nullptr) moves_->Add(nodes_, f.value->Get(), f.writer, l, MoveLog::Route::kShared);
    moves_->Add(nodes_, lanes[l], fragments[0].writer, l, MoveLog::Route::kShared);
  }
  *out = ops_.Pack(lanes);
  return true;
}

bool WaveMachine::LdsRead(LdsAccess* access, uint32_t at, uint32_t bytes, Value* out) {
  Lanes word;
  LdsPlan& plan = access->plans[at / 4];
  const bool planned = moves_ == nullptr && !access->lanes.empty() && (Renew(&plan) || PlanRead(*access, at, bytes, &plan));
  absl::InlinedVector<uint32_t, 8> records;
  for (const LdsPlan::Source& s : plan.sources) records.push_back(s.record);
  if (!planned || !plan.lasts || !lds_.Reread(records, access->lanes, access->addresses.data(), at, bytes, shared_)) {
    const auto race = lds_.Read(access->lanes, access->addresses.data(), at, bytes, shared_);
    if (race != Lds::Race::kNone) return Conflict(race);
  }
  if (planned ? !ReadByPlan(plan, &word) : !LdsReadLanes(*access, at, bytes, &word)) return false;
  return FromWord(std::move(word), static_cast<int>(bytes) * 8, out);
}

}  // namespace samebits::symexec
