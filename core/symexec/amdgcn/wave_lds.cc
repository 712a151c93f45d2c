// What LDS instructions read and write, for all lanes at once where one instruction wrote what they read.

#include <algorithm>

#include "core/symexec/amdgcn/wave_machine.h"

namespace samebits::symexec {

using expr::Fn;
using expr::Scalar;

namespace {
constexpr size_t kMaxWriters = 4;  // instructions whose values one read joins lane by lane
}  // namespace

const std::vector<uint16_t>& WaveMachine::LanesOf(MaskId mask) {
  if (lane_list_mask_ == mask && !lane_list_.empty()) return lane_list_;
  lane_list_mask_ = mask;
  lane_list_.clear();
  for (int l = 0; l < space_.lanes(); ++l)
    if (space_.Test(mask, l)) lane_list_.push_back(static_cast<uint16_t>(l));
  return lane_list_;
}

bool WaveMachine::LdsWrite(const std::vector<int64_t>& addresses, uint32_t at, uint32_t bytes, const Value& value) {
  const std::vector<uint16_t>& lanes = LanesOf(exec_);
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
    ops_.Settle(&p.lanes);
    const auto race = lds_.Write(lanes, addresses.data(), at, p.bits / 8u, p.lanes, ops_, shared_);
    if (race != Lds::Race::kNone) return Conflict(race);
    at += p.bits / 8u;
  }
  return true;
}

// `bytes` bytes from `at` bytes behind each lane's address. *done: they come whole from few instructions.
bool WaveMachine::LdsGather(const std::vector<int64_t>& addresses, uint32_t at, uint32_t bytes, Lanes* out, bool* done) {
  struct Writer {
    uint32_t record;
    uint16_t offset, first;
  };
  const std::vector<uint16_t>& lanes = LanesOf(exec_);
  absl::InlinedVector<Writer, kMaxWriters> writers;
  const size_t count = static_cast<size_t>(space_.lanes());
  lds_source_.resize(count);
  lds_writer_.resize(count);
  size_t w = 0;
  *done = false;
  for (const uint16_t l : lanes) {
    Lds::Place p;
    if (!lds_.From(static_cast<uint32_t>(addresses[l]) + at, bytes, &p)) return true;
    if (w >= writers.size() || writers[w].record != p.record || writers[w].offset != p.offset) {
      for (w = 0; w < writers.size() && (writers[w].record != p.record || writers[w].offset != p.offset);) ++w;
      if (w == kMaxWriters) return true;
      if (w == writers.size()) writers.push_back({p.record, p.offset, p.source});
    }
    lds_source_[l] = p.source;
    lds_writer_[l] = static_cast<uint8_t>(w);
  }
  if (lanes.size() < count) {
    // What the other lanes have here, nobody reads.
    std::vector<bool> reads(count, false);
    for (const uint16_t l : lanes) reads[l] = true;
    for (size_t l = 0; l < count; ++l)
      if (!reads[l]) lds_source_[l] = writers[0].first, lds_writer_[l] = 0;
  }
  std::vector<uint16_t> source;
  for (w = 0; w < writers.size(); ++w) {
    const Writer& writer = writers[w];
    Lanes part;
    if (writer.record == Lds::kNothing) {
      part.nodes = nodes_.Undef();
    } else {
      source = lds_source_;
      for (size_t l = 0; l < count && writers.size() > 1; ++l)
        if (lds_writer_[l] != w) source[l] = writer.first;
      part = ops_.Permute(lds_.value(writer.record), space_.InternPerm(source.data()));
      if (writer.offset != 0 || lds_.bytes(writer.record) != bytes) {
        const Lanes whole = part;
        const Lanes* operand = &whole;
        if (!ops_.Apply(Fn::kExtract, writer.offset * 8u, static_cast<int>(bytes) * 8, {&operand, 1}, &part)) return OutOfAnchors();
      }
    }
    if (w == 0) {
      *out = std::move(part);
      continue;
    }
    const Lanes before = *out;
    const MaskId own = space_.MaskWhere([&](int l) { return lds_writer_[l] == w; });
    if (!ops_.Blend(own, part, before, out)) return OutOfAnchors();
  }
  *done = true;
  return true;
}

// Lane by lane, where one lane's bytes come from several writes.
bool WaveMachine::LdsReadLanes(const std::vector<int64_t>& addresses, uint32_t at, uint32_t bytes, Lanes* out) {
  std::vector<Scalar> lanes(space_.lanes());
  for (Scalar& s : lanes) s.node = nodes_.Undef();
  std::vector<SharedMemory::Fragment> fragments;
  std::vector<StoredScalar> values(bytes);  // of the fragments
  for (const uint16_t l : LanesOf(exec_)) {
    const uint32_t address = static_cast<uint32_t>(addresses[l]) + at;
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

bool WaveMachine::LdsRead(const std::vector<int64_t>& addresses, uint32_t at, uint32_t bytes, Value* out) {
  Lanes word;
  bool done = false;
  for (uint32_t parts = 1; !done && moves_ == nullptr && parts <= bytes / lds_.granule(); parts *= 2) {
    const uint32_t size = bytes / parts;
    std::vector<Lanes> part(parts);
    done = true;
    uint64_t widths = 0;
    for (uint32_t i = 0; i < parts && done; ++i) {
      if (!LdsGather(addresses, at + i * size, size, &part[i], &done)) return false;
      widths |= uint64_t{8} * size << (8 * i);
    }
    if (!done || parts == 1) {
      word = std::move(part[0]);
      continue;
    }
    std::vector<const Lanes*> operands;
    for (const Lanes& p : part) operands.push_back(&p);
    if (!ops_.Apply(Fn::kConcat, widths, static_cast<int>(bytes) * 8, operands, &word)) return OutOfAnchors();
  }
  if (!done && !LdsReadLanes(addresses, at, bytes, &word)) return false;
  return FromWord(std::move(word), static_cast<int>(bytes) * 8, out);
}

}  // namespace samebits::symexec
