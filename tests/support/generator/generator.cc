#include "tests/support/generator/generator.h"

#include <bit>
#include <functional>

#include "tests/support/generator/statements.h"

namespace samebits::generator {

uint64_t Random::Next() {
  uint64_t z = state_ += 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

uint32_t AdversarialWord(Random& random) {
  static constexpr uint32_t kSingles[] = {
      0x00000000, 0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fffffff, 0x7fc00000, 0xffc00001,
      0x7f800001, 0x00000001, 0x80000001, 0x007fffff, 0x00800000, 0x80800000, 0x7f7fffff, 0xff7fffff, 0x33800000,
      0x33800001, 0x4b000000, 0x4b800001, 0x3f800001, 0x3fffffff, 0x40000000, 0x3effffff, 0x3f000000, 0x477fe000,
      0x477ff000, 0x38800000, 0x387fc000, 0x33000000, 0x4f000000, 0xcf000000, 0x5f000000, 0x0f800000};
  static constexpr uint16_t kHalves[] = {0x0000, 0x8000, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 0x7fff, 0x7e00, 0x7c01, 0xfe01,
                                         0x0001, 0x03ff, 0x0400, 0x8400, 0x7bff, 0xfbff, 0x3f80, 0xbf80, 0x7f80, 0xff80,
                                         0x7f81, 0x0080, 0x007f, 0x7f7f, 0x3555, 0x4200, 0x3c01, 0x1000};
  switch (random.Below(6)) {
    case 0: return random.Pick(kSingles);
    case 1: return random.Pick(kSingles) + random.Below(3) - 1;
    case 2: return static_cast<uint32_t>(random.Pick(kHalves)) | static_cast<uint32_t>(random.Pick(kHalves)) << 16;
    case 3: return random.Below(64) - 8;
    case 4: return std::bit_cast<uint32_t>(static_cast<float>(static_cast<int>(random.Below(4001)) - 2000) / 64.0f);
    default: return static_cast<uint32_t>(random.Next());
  }
}

uint64_t AdversarialDouble(Random& random) {
  static constexpr uint64_t kDoubles[] = {0,
                                          1ull << 63,
                                          0x3ff0000000000000,
                                          0xbff0000000000000,
                                          0x7ff0000000000000,
                                          0xfff0000000000000,
                                          1,
                                          0x000fffffffffffff,
                                          0x0010000000000000,
                                          0x7fefffffffffffff,
                                          0x3ca0000000000000,
                                          0x3ca0000000000001,
                                          0x36a0000000000000,
                                          0x3690000000000000,
                                          0x47efffffe0000000,
                                          0x47effffff0000000,
                                          0x41dfffffffc00000,
                                          0x43e0000000000000,
                                          0xc3e0000000000000,
                                          0x40effc0000000000};
  switch (random.Below(3)) {
    case 0: return random.Pick(kDoubles);
    case 1: return std::bit_cast<uint64_t>(static_cast<double>(static_cast<int>(random.Below(4001)) - 2000) / 64.0);
    default: {
      const uint64_t bits = random.Next();
      return (bits >> 52 & 0x7ff) == 0x7ff ? bits ^ (uint64_t{1} << 62) : bits;
    }
  }
}

namespace {

void Print(const std::vector<Statement>& statements, std::string* out) {
  for (const Statement& s : statements) {
    if (s.removed) continue;
    *out += s.before;
    Print(s.body, out);
    *out += s.middle;
    Print(s.other, out);
    *out += s.after;
  }
}

void Collect(std::vector<Statement>& statements, std::vector<Statement*>* out) {
  for (Statement& s : statements) {
    out->push_back(&s);
    Collect(s.body, out);
    Collect(s.other, out);
  }
}

constexpr int kInputTail = 512;

class Kernel : public StatementMaker {
 public:
  Kernel(uint64_t seed, const GeneratorOptions& options) : StatementMaker(seed, options) {}

  Program Make() {
    ChooseLaunch();
    const uint32_t functions = random_.OneIn(3) ? 1 + random_.Below(2) : 0;
    std::string device;
    for (uint32_t i = 0; i < functions; ++i) device += Function(i);
    functions_ = functions;
    const Place top{true, false, 0, false};
    const uint32_t count =
        options_.min_statements + random_.Below(options_.max_statements - options_.min_statements + 1);
    for (uint32_t i = 0; i < count; ++i) program_.statements.push_back(Any(top));
    Epilogue();
    program_.header = Header(device);
    program_.footer = "$done:\n  ret;\n}\n";
    FillBuffers();
    return std::move(program_);
  }

 private:
  void ChooseLaunch() {
    static constexpr std::array<uint32_t, 3> kBlocks[] = {{32, 1, 1}, {32, 1, 1}, {32, 1, 1}, {64, 1, 1}, {16, 2, 1},
                                                          {8, 2, 2},  {48, 1, 1}, {20, 1, 1}, {32, 2, 1}};
    static constexpr std::array<uint32_t, 3> kGrids[] = {{1, 1, 1}, {2, 1, 1}, {3, 1, 1}, {2, 2, 1}};
    checker::Launch& launch = program_.launch;
    launch.block = random_.Pick(kBlocks);
    launch.grid = random_.Pick(kGrids);
    threads_ = launch.block[0] * launch.block[1] * launch.block[2];
    total_ = threads_ * (*launch.grid)[0] * (*launch.grid)[1];
    full_warps_ = threads_ % 32 == 0;
    power_of_two_ = (threads_ & (threads_ - 1)) == 0;
  }

  void FillBuffers() {
    using Kind = checker::Argument::Kind;
    std::vector<checker::Argument> args(7);
    const char* names[] = {"in", "place", "out", "doubles"};
    for (size_t i = 0; i < 4; ++i) {
      args[i].kind = Kind::kPointer;
      args[i].buffer = names[i];
    }
    args[4].kind = Kind::kInteger;
    args[4].bits = random_.OneIn(3) ? total_ - random_.Below(total_ / 2) : total_;
    args[5].kind = Kind::kFloat;
    args[5].bits = AdversarialWord(random_);
    args[6].kind = Kind::kPointer;
    args[6].buffer = "scatter";
    program_.launch.args = std::move(args);
    auto words = [this](size_t bytes) {
      std::vector<uint8_t> v(bytes);
      for (size_t i = 0; i + 4 <= bytes; i += 4) {
        const uint32_t word = AdversarialWord(random_);
        for (size_t k = 0; k < 4; ++k) v[i + k] = static_cast<uint8_t>(word >> (8 * k));
      }
      return v;
    };
    program_.contents["in"] = words(static_cast<size_t>(total_) * kInputStride + kInputTail);
    program_.contents["place"] = words(static_cast<size_t>(total_) * kPlaceStride);
    program_.contents["scatter"] = words(static_cast<size_t>(total_) * 4 * kScatterSlabs);
    program_.contents["out"] = words(static_cast<size_t>(total_) * kOutputStride);
    std::vector<uint8_t>& doubles = program_.contents["doubles"];
    doubles.resize(static_cast<size_t>(total_) * kDoubleStride);
    for (size_t i = 0; i < doubles.size(); i += 8) {
      const uint64_t bits = AdversarialDouble(random_);
      for (size_t k = 0; k < 8; ++k) doubles[i + k] = static_cast<uint8_t>(bits >> (8 * k));
    }
  }

  static std::string Registers() {
    return "  .reg .b16 %h<" + std::to_string(kHalves) + ">;\n  .reg .b32 %r<" + std::to_string(kWords) +
           ">;\n  .reg .b64 %rd<" + std::to_string(kLongs) + ">;\n  .reg .f64 %d<" + std::to_string(kDoubles) +
           ">;\n  .reg .pred %p<" + std::to_string(kPredicates) + ">;\n  .reg .b32 %i<40>;\n  .reg .pred %q<80>;\n";
  }

  std::string Header(const std::string& device) {
    std::string h =
        ".version 8.3\n.target sm_90\n.address_size 64\n" + device +
        ".visible .entry k(.param .u64 k0, .param .u64 k1, .param .u64 k2, .param .u64 k3, .param .u32 k4, .param .f32 "
        "k5, .param .u64 k6)\n"
        "{\n" +
        Registers() +
        "  .reg .b32 %tx, %gx, %ash, %s<8>, %x<6>;\n  .reg .b64 %ain, %apl, %aout, %adb, %asc, %sl<8>;\n"
        "  .shared .align 128 .b8 smem[2048];\n  .local .align 16 .b8 loc[64];\n"
        "  mov.u32 %s0, %tid.z;\n  mov.u32 %s1, %ntid.y;\n  mov.u32 %s2, %tid.y;\n  mad.lo.s32 %s0, %s0, %s1, %s2;\n"
        "  mov.u32 %s1, %ntid.x;\n  mov.u32 %s2, %tid.x;\n  mad.lo.s32 %tx, %s0, %s1, %s2;\n"
        "  mov.u32 %s0, %ctaid.y;\n  mov.u32 %s1, %nctaid.x;\n  mov.u32 %s2, %ctaid.x;\n  mad.lo.s32 %s0, %s0, %s1, "
        "%s2;\n"
        "  mad.lo.s32 %gx, %s0, " +
        std::to_string(threads_) +
        ", %tx;\n"
        "  ld.param.u64 %ain, [k0];\n  cvta.to.global.u64 %ain, %ain;\n  ld.param.u64 %apl, [k1];\n"
        "  ld.param.u64 %aout, [k2];\n  ld.param.u64 %adb, [k3];\n  ld.param.u64 %asc, [k6];\n"
        "  mov.b32 %x0, %tx;\n  mov.b32 %x1, %gx;\n  mov.u32 %x2, %ctaid.x;\n  mov.u32 %x3, " +
        std::to_string(random_.Below(100)) +
        ";\n  shl.b32 %x4, %gx, 3;\n  mad.lo.s32 %x5, %tx, -5, 1000;\n"
        "  mad.wide.u32 %sl0, %gx, " +
        std::to_string(kInputStride) +
        ", %ain;\n"
        "  mad.wide.u32 %apl, %gx, " +
        std::to_string(kPlaceStride) +
        ", %apl;\n"
        "  mad.wide.u32 %aout, %gx, " +
        std::to_string(kOutputStride) +
        ", %aout;\n"
        "  mad.wide.u32 %adb, %gx, " +
        std::to_string(kDoubleStride) +
        ", %adb;\n"
        "  mov.u32 %ash, smem;\n  mad.lo.s32 %ash, %tx, 16, %ash;\n"
        "  ld.global.v4.b32 {%r0, %r1, %r2, %r3}, [%sl0];\n  ld.global.v2.b32 {%r4, %r5}, [%sl0+16];\n"
        "  ld.global.b32 %r6, [%apl+4];\n  mov.b32 %r7, %tx;\n  mad.lo.s32 %r8, %gx, 12, 5;\n  mov.b32 %r9, -3;\n"
        "  ld.param.b32 %r10, [k4];\n  ld.param.b32 %r11, [k5];\n"
        "  ld.global.v4.b16 {%h0, %h1, %h2, %h3}, [%sl0+24];\n  mov.b16 %h4, 7;\n  cvt.u16.u32 %h5, %tx;\n"
        "  ld.global.v2.b64 {%rd0, %rd1}, [%sl0+32];\n  cvt.u64.u32 %rd2, %gx;\n  mov.b64 %rd3, 0x123456789abcdef;\n"
        "  mul.wide.s32 %rd4, %tx, -7;\n"
        "  ld.global.v2.f64 {%d0, %d1}, [%adb];\n  cvt.rn.f64.s32 %d2, %r7;\n  mov.f64 %d3, 0d3FF8000000000000;\n"
        "  setp.lt.s32 %p0, %r0, %r1;\n  setp.lt.u32 %p1, %tx, 11;\n  setp.gt.f32 %p2, %r2, %r3;\n"
        "  setp.eq.s32 %p3, %r9, 0;\n  and.b32 %s0, %tx, 1;\n  setp.ne.s32 %p4, %s0, 0;\n"
        "  st.local.v4.b32 [loc], {%r0, %r1, %r7, %r8};\n  st.local.v2.b64 [loc+16], {%rd0, %rd2};\n"
        "  st.local.v4.b32 [loc+32], {%r2, %r3, %r4, %r9};\n  st.local.v4.b32 [loc+48], {%r5, %r6, %r7, %r10};\n"
        "  st.shared.v4.b32 [%ash], {%r0, %r7, %r1, %r8};\n";
    return h;
  }

  std::string Label() { return "$L" + std::to_string(labels_++); }
  Statement Any(const Place& place) {
    const uint32_t kind = random_.Below(100);
    if (kind < 46) return Pure();
    if (kind < 54) return Index();
    if (kind < 57) return AddressesMayDiffer(place) ? IndexedLoad() : Index();
    if (kind < 58) return place.depth == 0 ? Scatter() : Pure();
    if (kind < 63) return GlobalLoad(place);
    if (kind < 66) return Local(place);
    if (kind < 69) return functions_ > 0 ? Call(place) : Pure();
    if (kind < 73) return place.depth < 2 ? BranchOnThread(place) : Pure();
    if (kind < 76) return place.depth < 2 ? BranchOnData(place) : Pure();
    if (kind < 79) return place.depth < 2 ? Loop(place) : Pure();
    if (kind < 82) return place.on_data || place.in_loop ? Pure() : Store(place);
    if (!place.convergent || place.on_data) return Pure();
    if (kind < 89) return Shuffle();
    if (kind < 91) return Vote();
    if (kind < 93) return full_warps_ ? Redux() : Shuffle();
    if (kind < 97) return Shared();
    if (kind < 98) return CopyAsync();
    return full_warps_ && options_.matrix ? Matrix() : Shared();
  }

  std::vector<Statement> Body(const Place& place, uint32_t most) {
    std::vector<Statement> out;
    for (uint32_t n = 1 + random_.Below(most); n > 0; --n) out.push_back(Any(place));
    return out;
  }

  void Epilogue() {
    if (random_.OneIn(3))
      program_.statements.push_back(
          Lines("  ld.param.u32 %s0, [k4];\n  setp.ge.u32 %q0, %gx, %s0;\n  @%q0 bra $done;\n"));
    // A word of each of several registers, and of the buffer that is also read.
    const uint32_t stores = 3 + random_.Below(5);
    for (uint32_t i = 0; i < stores; ++i) {
      const std::string at = "[%aout+" + std::to_string(128 + 16 * i);
      switch (random_.Below(8)) {
        case 0: program_.statements.push_back(Line("st.global.b16 " + at + "], " + w_.H())); break;
        case 1: program_.statements.push_back(Line("st.global.b64 " + at + "], " + w_.RD())); break;
        case 2: program_.statements.push_back(Line("st.global.f64 " + at + "], " + w_.D())); break;
        case 3:
          program_.statements.push_back(
              Lines("  selp.b32 %s0, 1, 0, " + w_.P() + ";\n  st.global.b32 " + at + "], %s0;\n"));
          break;
        case 4:
          program_.statements.push_back(Line("st.global.v2.b64 " + at + "], {" + w_.RD() + ", " + w_.RD() + "}"));
          break;
        default: program_.statements.push_back(Line("st.global.b32 " + at + "], " + w_.R())); break;
      }
    }
    if (random_.OneIn(4)) program_.statements.push_back(Line("st.global.b32 [%apl+4], " + w_.R()));
  }

  Statement If(const Place& place, const std::string& test, const Place& inside) {
    const std::string q = "%q" + std::to_string(1 + conditions_++ % 70), other = Label(), end = Label();
    Statement s;
    s.before = test.substr(0, test.find('@')) + q + test.substr(test.find('@') + 1) + "  @" +
               (random_.OneIn(2) ? "!" : "") + q + " bra " + other + ";\n";
    s.body = Body(inside, 4);
    const bool both = random_.OneIn(2);
    s.middle = both ? "  bra" + std::string(place.convergent ? "" : ".uni") + " " + end + ";\n" + other + ":\n" : "";
    if (place.convergent) s.middle = both ? "  bra " + end + ";\n" + other + ":\n" : "";
    if (both) s.other = Body(inside, 4);
    s.after = (both ? end : other) + ":\n";
    return s;
  }

  Statement BranchOnThread(const Place& place) {
    const Place inside{false, place.on_data, place.depth + 1, place.in_loop};
    switch (random_.Below(4)) {
      case 0:
        return If(
            place,
            "  setp." + w_.OneOf("lt|ge|eq|ne") + ".u32 @, %tx, " + std::to_string(random_.Below(threads_)) + ";\n",
            inside);
      case 1:
        return If(place,
                  "  and.b32 %s0, %tx, " + std::to_string(1 + random_.Below(31)) + ";\n  setp." + w_.OneOf("lt|eq|ne") +
                      ".u32 @, %s0, " + std::to_string(random_.Below(8)) + ";\n",
                  inside);
      case 2: {
        // Decided for the whole block.
        const Place whole{place.convergent, place.on_data, place.depth + 1, place.in_loop};
        return If(place,
                  "  mov.u32 %s0, %ctaid.x;\n  setp." + w_.OneOf("lt|eq|ne") + ".u32 @, %s0, " +
                      std::to_string(random_.Below(3)) + ";\n",
                  whole);
      }
      default:
        return If(place, "  setp." + w_.OneOf("lt|gt|ne") + ".s32 @, " + w_.R() + ", " + w_.RI() + ";\n",
                  {false, true, place.depth + 1, place.in_loop});
    }
  }

  Statement BranchOnData(const Place& place) {
    const Place inside{false, true, place.depth + 1, place.in_loop};
    if (random_.OneIn(2))
      return If(place, "  setp" + w_.OneOf(".lt|.gt|.neu|.num") + ".f32 @, " + w_.R() + ", " + w_.R() + ";\n", inside);
    return If(place, "  setp" + w_.OneOf(".lt|.ge|.ne") + ".s32 @, " + w_.R() + ", " + w_.RI() + ";\n", inside);
  }

  Statement Loop(const Place& place) {
    const std::string i = "%i" + std::to_string(loops_ % 40), q = "%q" + std::to_string(71 + loops_ % 9), top = Label();
    ++loops_;
    Place inside{place.convergent, place.on_data, place.depth + 1, true};
    std::string bound = std::to_string(1 + random_.Below(4)), setup;
    if (random_.OneIn(3)) {
      setup = "  and.b32 %s7, %tx, " + std::to_string(1 + random_.Below(3)) + ";\n  add.s32 " + i + ", %s7, -" +
              std::to_string(1 + random_.Below(2)) + ";\n";
      inside.convergent = false;
    } else {
      setup = "  mov.u32 " + i + ", 0;\n";
    }
    Statement s;
    s.before = setup + top + ":\n";
    s.body = Body(inside, 4);
    s.after = (random_.OneIn(2) ? "  add.s32 " + w_.R() + ", " + i + ", 1;\n" : std::string()) + "  add.s32 " + i +
              ", " + i + ", 1;\n  setp.lt.s32 " + q + ", " + i + ", " + bound + ";\n  @" + q + " bra " + top + ";\n";
    return s;
  }

  std::string Function(uint32_t index) {
    std::string text = ".func (.param .b32 out) f" + std::to_string(index) + "(.param .b32 a, .param .b32 b)\n{\n" +
                       Registers() + "  .reg .b32 %s<4>;\n";
    for (int i = 0; i < kWords; ++i)
      text += "  ld.param.b32 %r" + std::to_string(i) + (i % 2 ? ", [b];\n" : ", [a];\n");
    for (int i = 0; i < kHalves; ++i)
      text += "  cvt.u16.u32 %h" + std::to_string(i) + ", %r" + std::to_string(i) + ";\n";
    for (int i = 0; i < kLongs; ++i)
      text += "  mul.wide.u32 %rd" + std::to_string(i) + ", %r" + std::to_string(i) + ", 77;\n";
    for (int i = 0; i < kDoubles; ++i)
      text += "  cvt.rn.f64.s32 %d" + std::to_string(i) + ", %r" + std::to_string(i) + ";\n";
    for (int i = 0; i < kPredicates; ++i)
      text +=
          "  setp.lt.s32 %p" + std::to_string(i) + ", %r" + std::to_string(i) + ", %r" + std::to_string(i + 1) + ";\n";
    std::vector<Statement> body;
    for (uint32_t n = 2 + random_.Below(4); n > 0; --n) body.push_back(Pure());
    Print(body, &text);
    return text + "  st.param.b32 [out], " + w_.R() + ";\n  ret;\n}\n";
  }

  Statement Call(const Place& place) {
    const std::string name = "f" + std::to_string(random_.Below(functions_));
    return Lines("  {\n  .param .b32 pa;\n  .param .b32 pb;\n  .param .b32 po;\n  st.param.b32 [pa], " + w_.R() +
                 ";\n  st.param.b32 [pb], " + w_.R() + ";\n  call" +
                 (place.convergent && !place.on_data ? ".uni" : "") + " (po), " + name +
                 ", (pa, pb);\n  ld.param.b32 " + w_.R() + ", [po];\n  }\n");
  }
  Program program_;
  uint32_t functions_ = 0, labels_ = 0, conditions_ = 0, loops_ = 0;
};

}  // namespace

std::string Program::Text() const {
  std::string text = header;
  Print(statements, &text);
  return text + footer;
}

std::vector<Statement*> Program::AllStatements() {
  std::vector<Statement*> all;
  Collect(statements, &all);
  return all;
}

Program Generate(uint64_t seed, const GeneratorOptions& options) { return Kernel(seed, options).Make(); }

}  // namespace samebits::generator
