#include "tests/support/generator/statements.h"

namespace samebits::generator {

Statement StatementMaker::Line(const std::string& text) {
  Statement s;
  s.before = "  " + text + ";\n";
  return s;
}

Statement StatementMaker::Lines(const std::string& text) {
  Statement s;
  s.before = text;
  return s;
}

Statement StatementMaker::Pure() {
  std::string guard;
  if (random_.OneIn(5)) guard = std::string(random_.OneIn(2) ? "@" : "@!") + w_.P() + " ";
  return Line(guard + PureInstruction(w_));
}

std::string StatementMaker::OtherLane() {
  if (power_of_two_ && random_.OneIn(2))
    return "  xor.b32 %s1, %tx, " + std::to_string(random_.Below(threads_)) + ";\n";
  if (random_.OneIn(3)) return "  mov.b32 %s1, " + std::to_string(random_.Below(threads_)) + ";\n";
  return "  add.s32 %s1, %tx, " + std::to_string(random_.Below(threads_)) + ";\n  rem.u32 %s1, %s1, " +
         std::to_string(threads_) + ";\n";
}

std::string StatementMaker::Access(int* bytes, bool is_load) {
  switch (random_.Below(is_load ? 11 : 8)) {
    case 0: *bytes = 1; return "b8 |" + w_.R();
    case 1: *bytes = 1; return "u8 |" + w_.H();
    case 2: *bytes = 2; return "b16 |" + w_.H();
    case 3:
    case 4: *bytes = 4; return "b32 |" + w_.R();
    case 5: *bytes = 8; return "b64 |" + w_.RD();
    case 6: *bytes = 8; return "v2.b32 |{%r0, %r" + std::to_string(1 + random_.Below(kWords - 1)) + "}";
    case 7: *bytes = 16; return "v4.b32 |{%r1, %r2, %r3, %r" + std::to_string(4 + random_.Below(kWords - 4)) + "}";
    case 8: *bytes = 1; return "s8 |" + w_.R();
    case 9: *bytes = 2; return "s16 |" + w_.R();
    default: *bytes = 4; return "v2.b16 |{%h0, %h" + std::to_string(1 + random_.Below(kHalves - 1)) + "}";
  }
}

std::string StatementMaker::LoadText(const std::string& space, const std::string& access, const std::string& address) {
  const size_t bar = access.find('|');
  return "  ld." + space + "." + access.substr(0, bar) + access.substr(bar + 1) + ", [" + address + "];\n";
}

std::string StatementMaker::StoreText(const std::string& space, const std::string& access, const std::string& address) {
  const size_t bar = access.find('|');
  return "st." + space + "." + access.substr(0, bar) + "[" + address + "], " + access.substr(bar + 1) + ";\n";
}

int StatementMaker::OffsetWithin(int room, int bytes) {
  const int align = bytes;
  return static_cast<int>(random_.Below(static_cast<uint32_t>((room - bytes) / align + 1))) * align;
}

Statement StatementMaker::GlobalLoad(const Place& place) {
  int bytes;
  const std::string access = Access(&bytes, true);
  const std::string guard = random_.OneIn(6) ? std::string(random_.OneIn(2) ? "@" : "@!") + w_.P() + " " : "";
  switch (AddressesMayDiffer(place) ? random_.Below(4) : 3) {
    case 0:  // at an index that may be data
      return Lines("  and.b32 %s0, " + w_.R() + ", 0xf0;\n  cvt.u64.u32 %sl1, %s0;\n  add.s64 %sl1, %ain, %sl1;\n" +
                   LoadText("global", access, "%sl1+" + std::to_string(OffsetWithin(16, bytes))));
    case 1:  // another thread's
      return Lines(OtherLane() + "  mad.wide.u32 %sl1, %s1, " + std::to_string(kInputStride) + ", %ain;\n" +
                   LoadText("global", access, "%sl1+" + std::to_string(OffsetWithin(kInputStride, bytes))));
    default: {
      std::string text = LoadText(random_.OneIn(4) ? "global.nc" : "global", access,
                                  "%sl0+" + std::to_string(OffsetWithin(kInputStride, bytes)));
      if (!guard.empty()) text = "  " + guard + text.substr(2);
      return Lines(text);
    }
  }
}

Statement StatementMaker::Index() {
  const std::string d = X() + ", ", small = std::to_string(1 + random_.Below(40));
  switch (random_.Below(10)) {
    case 0:
      return Line(w_.OneOf("add.s32|sub.s32|mul.lo.s32|mul.hi.u32|mul.hi.s32") + " " + d + X() + ", " +
                  (random_.OneIn(2) ? X() : small));
    case 1: return Line("mad.lo.s32 " + d + X() + ", " + small + ", " + X());
    case 2: return Line(w_.OneOf("div.u32|rem.u32|div.s32|rem.s32") + " " + d + X() + ", " + small);
    case 3:
      return Line(w_.OneOf("and.b32|or.b32|xor.b32") + " " + d + X() + ", " +
                  (random_.OneIn(2) ? X() : w_.IntegerImmediate(32)));
    case 4: return Line(w_.OneOf("shl.b32|shr.u32|shr.s32") + " " + d + X() + ", " + std::to_string(random_.Below(9)));
    case 5:
      return Line(w_.OneOf("min.s32|max.s32|min.u32|max.u32") + " " + d + X() + ", " +
                  (random_.OneIn(2) ? X() : small));
    case 6:
      return Line(w_.OneOf("bfe.u32|bfe.s32") + " " + d + X() + ", " + std::to_string(random_.Below(12)) + ", " +
                  std::to_string(1 + random_.Below(12)));
    case 7:
      return Lines("  setp" + w_.OneOf(".lt|.ge|.eq|.ne") + w_.OneOf(".s32|.u32") + " %q78, " + X() + ", " +
                   (random_.OneIn(2) ? X() : small) + ";\n  selp.b32 " + d + X() + ", " + X() + ", %q78;\n");
    case 8:
      return Line(w_.OneOf("popc.b32|clz.b32|brev.b32|neg.s32|abs.s32|not.b32|cvt.u32.u8|cvt.s32.s16|cvt.u32.u16") +
                  " " + d + X());
    default:
      return Line("mov.b32 " +
                  (random_.OneIn(2) ? w_.R() + ", " + X() : d + w_.OneOf("%tx|%gx|%ctaid.x|%ctaid.y|%laneid")));
  }
}

Statement StatementMaker::IndexedLoad() {
  int bytes;
  const std::string access = Access(&bytes, true), at = std::to_string(OffsetWithin(16, bytes));
  if (random_.OneIn(2))
    return Lines("  and.b32 %s0, " + X() + ", 31;\n  mad.wide.u32 %sl1, %s0, 16, %ain;\n" +
                 LoadText("global", access, "%sl1+" + at));
  return Lines("  rem.u32 %s0, " + X() + ", " + std::to_string(total_ * kInputStride / 16) +
               ";\n  shl.b32 %s0, %s0, 4;\n  cvt.u64.u32 %sl1, %s0;\n  add.s64 %sl1, %ain, %sl1;\n" +
               LoadText("global", access, "%sl1+" + at));
}

Statement StatementMaker::Scatter() {
  if (next_slab_ == kScatterSlabs) return Index();
  std::string text;
  if ((total_ & (total_ - 1)) == 0 && random_.OneIn(2)) {
    text = "  xor.b32 %s1, %gx, " + std::to_string(random_.Below(total_)) + ";\n";
  } else if (random_.OneIn(2)) {
    text = "  add.s32 %s1, %gx, " + std::to_string(random_.Below(total_)) + ";\n  rem.u32 %s1, %s1, " +
           std::to_string(total_) + ";\n";
  } else {
    text = "  sub.s32 %s1, " + std::to_string(total_ - 1) + ", %gx;\n";
  }
  return Lines(text + "  mad.wide.s32 %sl3, %s1, 4, %asc;\n  st.global.b32 [%sl3+" +
               std::to_string(4 * total_ * static_cast<uint32_t>(next_slab_++)) + "], " +
               (random_.OneIn(3) ? X() : w_.R()) + ";\n");
}

Statement StatementMaker::Local(const Place& place) {
  int bytes;
  const bool is_load = place.on_data || random_.OneIn(2);
  const std::string access = Access(&bytes, is_load);
  std::string text, address = "loc+" + std::to_string(OffsetWithin(64, bytes));
  std::string space = "local";
  switch (AddressesMayDiffer(place) ? random_.Below(3) : 2) {
    case 0:
      text = "  mov.u64 %sl2, loc;\n  and.b32 %s0, %tx, 3;\n  mad.wide.u32 %sl2, %s0, 16, %sl2;\n";
      address = "%sl2+" + std::to_string(OffsetWithin(16, bytes));
      break;
    case 1:
      text = "  mov.u64 %sl2, loc;\n  cvta.local.u64 %sl2, %sl2;\n";
      address = "%sl2+" + std::to_string(OffsetWithin(64, bytes));
      space = "";
      break;
    default: break;
  }
  std::string access_text = is_load ? LoadText("local", access, address) : "  " + StoreText("local", access, address);
  if (space.empty()) access_text.erase(access_text.find(".local"), 6);
  return Lines(text + access_text);
}

Statement StatementMaker::Store(const Place& place) {
  if (next_slot_ >= 8) return Pure();
  int bytes;
  const std::string access = Access(&bytes, false);
  const int at = 16 * next_slot_++ + OffsetWithin(16, bytes);
  const std::string guard =
      random_.OneIn(3) && place.depth == 0 ? std::string(random_.OneIn(2) ? "@" : "@!") + w_.P() + " " : "";
  return Lines("  " + guard + StoreText("global", access, "%aout+" + std::to_string(at)));
}

Statement StatementMaker::Shuffle() {
  static const char* kModes[] = {"up", "down", "bfly", "idx"};
  const std::string mode = random_.Pick(kModes);
  std::string setup, lane = std::to_string(random_.Below(32));
  if (random_.OneIn(4)) {
    setup =
        "  mad.lo.s32 %s2, %tx, " + std::to_string(random_.Below(8)) + ", " + std::to_string(random_.Below(32)) + ";\n";
    lane = "%s2";
  }
  // Segments of 32, 16, 8 or 4 lanes; sometimes a lower clamp.
  static constexpr uint32_t kSegments[] = {0, 0, 0x10, 0x18, 0x1c};
  const uint32_t segment = random_.Pick(kSegments);
  const uint32_t clamp = mode == "up" ? 0 : random_.OneIn(6) ? random_.Below(32) : 31;
  const std::string d = random_.OneIn(2) ? w_.R() + "|" + w_.P() : w_.R();
  return Lines(setup + "  shfl.sync." + mode + ".b32 " + d + ", " + w_.R() + ", " + lane + ", " +
               std::to_string(segment << 8 | clamp) + ", -1;\n");
}

Statement StatementMaker::Vote() {
  const std::string setup = "  and.b32 %s3, %tx, " + std::to_string(1 + random_.Below(31)) + ";\n  setp." +
                            w_.OneOf("lt|eq|ne|ge") + ".u32 %q79, %s3, " + std::to_string(random_.Below(16)) + ";\n";
  if (random_.OneIn(2))
    return Lines(setup + "  vote.sync.ballot.b32 " + w_.R() + ", " + (random_.OneIn(3) ? "!" : "") + "%q79, -1;\n");
  return Lines(setup + "  vote.sync." + w_.OneOf("all|any|uni") + ".pred " + w_.P() + ", %q79, -1;\n");
}

Statement StatementMaker::Redux() {
  return Lines("  redux.sync." + w_.OneOf("add.s32|add.u32|min.s32|max.s32|min.u32|max.u32|and.b32|or.b32|xor.b32") +
               " " + w_.R() + ", " + w_.R() + ", -1;\n");
}

Statement StatementMaker::Shared() {
  std::string text = "  bar.sync 0;\n";
  int bytes;
  for (uint32_t n = 1 + random_.Below(2); n > 0; --n) {
    const std::string access = Access(&bytes, false);
    text += "  " + StoreText(random_.OneIn(2) ? "shared" : "shared::cta", access,
                             "%ash+" + std::to_string(OffsetWithin(16, bytes)));
  }
  text += w_.OneOf("  bar.sync 0;\n|  barrier.sync 0;\n") + OtherLane() +
          "  mov.u32 %s2, smem;\n  mad.lo.s32 %s2, %s1, 16, %s2;\n";
  const std::string access = Access(&bytes, true);
  text += LoadText("shared", access, "%s2+" + std::to_string(OffsetWithin(16, bytes)));
  return Lines(text + "  bar.sync 0;\n");
}

Statement StatementMaker::CopyAsync() {
  const char* sizes[] = {"4", "8", "16"};
  const std::string size = random_.Pick(sizes);
  std::string tail;
  if (random_.OneIn(3)) tail = ", " + std::to_string(random_.OneIn(2) ? 0 : std::stoi(size));
  const std::string level = size == "16" && random_.OneIn(2) ? "cg" : "ca";
  std::string text = "  bar.sync 0;\n  cp.async." + level + ".shared.global [%ash], [%sl0+" + w_.OneOf("0|16|32") +
                     "], " + size + tail + ";\n";
  text += w_.OneOf("  cp.async.wait_all;\n|  cp.async.commit_group;\n  cp.async.wait_group 0;\n");
  text += "  bar.sync 0;\n" + OtherLane() + "  mov.u32 %s2, smem;\n  mad.lo.s32 %s2, %s1, 16, %s2;\n";
  int bytes;
  const std::string access = Access(&bytes, true);
  return Lines(text + LoadText("shared", access, "%s2+" + std::to_string(OffsetWithin(16, bytes))) + "  bar.sync 0;\n");
}

Statement StatementMaker::Matrix() {
  if (random_.OneIn(2)) {
    switch (random_.Below(4)) {
      case 0:
        return Lines(
            "  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r0, %r1, %r2, %r3}, {%r4, %r5, %r6, %r7}, {%r8, "
            "%r9}, {%r0, %r1, %r2, %r3};\n");
      case 1:
        return Lines(
            "  mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%r0, %r1, %r2, %r3}, {%r4, %r5, %r6, %r11}, "
            "{%r10, %r9}, {%r0, %r1, %r2, %r3};\n");
      case 2:
        return Lines(
            "  mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r0, %r1}, {%r4, %r5, %r6, %r7}, {%r8, %r9}, {%r2, "
            "%r3};\n");
      default:
        return Lines(
            "  mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%r0, %r1, %r2, %r3}, {%r4, %r5}, {%r8}, {%r3, "
            "%r2, %r1, %r0};\n");
    }
  }
  const std::string trans = w_.OneOf("|.trans");
  if (random_.OneIn(2))
    return Lines("  bar.sync 0;\n  stmatrix.sync.aligned.m8n8.x2" + trans +
                 ".shared.b16 [%ash], {%r4, %r5};\n  bar.sync 0;\n  ld.shared.b32 " + w_.R() +
                 ", [%ash];\n  bar.sync 0;\n");
  return Lines(
      "  bar.sync 0;\n  st.shared.v4.b32 [%ash], {%r0, %r3, %r6, %r8};\n  bar.sync 0;\n  "
      "ldmatrix.sync.aligned.m8n8.x4" +
      trans + ".shared.b16 {%r0, %r2, %r5, %r7}, [%ash];\n  bar.sync 0;\n");
}
}  // namespace samebits::generator
