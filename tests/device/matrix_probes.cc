#include <random>

#include "tests/device/probes.h"

namespace samebits::device_test {
namespace {

std::string List(const std::string& prefix, int first, int count) {
  std::string list = "{";
  for (int i = 0; i < count; ++i) list += (i == 0 ? "%" : ", %") + prefix + std::to_string(first + i);
  return list + "}";
}

std::string Mma(const std::string& shape, const std::string& types, int a, int b, int c) {
  return "mma.sync.aligned." + shape + ".row.col." + types + " " + List("y", 0, c) + ", " + List("x", 0, a) + ", " +
         List("x", 8, b) + ", " + List("y", 0, c) + ";";
}

std::string MmaF64(const std::string& shape, int a, int b, int c) {
  return "mma.sync.aligned." + shape + ".row.col.f64.f64.f64.f64 " + List("v", 0, c) + ", " + List("z", 0, a) + ", " +
         List("z", 4, b) + ", " + List("v", 0, c) + ";";
}

void AddMma(std::vector<MatrixProbe>& probes) {
  probes.push_back({Mma("m16n8k16", "f32.f16.f16.f32", 4, 2, 4)});
  probes.push_back({Mma("m16n8k8", "f32.f16.f16.f32", 2, 1, 4)});
  probes.push_back({Mma("m16n8k16", "f16.f16.f16.f16", 4, 2, 2), Words::kF16, Words::kF16, 32, 2});
  probes.push_back({Mma("m16n8k8", "f16.f16.f16.f16", 2, 1, 2), Words::kF16, Words::kF16, 32, 2});
  probes.push_back({Mma("m16n8k16", "f32.bf16.bf16.f32", 4, 2, 4), Words::kBf16});
  probes.push_back({Mma("m16n8k8", "f32.bf16.bf16.f32", 2, 1, 4), Words::kBf16});
  probes.push_back({Mma("m16n8k8", "f32.tf32.tf32.f32", 4, 2, 4), Words::kF32});
  probes.push_back({Mma("m16n8k4", "f32.tf32.tf32.f32", 2, 1, 4), Words::kF32});
  for (const std::string types : {"e4m3.e4m3", "e5m2.e5m2", "e4m3.e5m2"}) {
    const Words words = types[1] == '4' ? Words::kE4m3 : Words::kE5m2;
    probes.push_back({Mma("m16n8k32", "f32." + types + ".f32", 4, 2, 4), words});
    probes.push_back({Mma("m16n8k32", "f16." + types + ".f16", 4, 2, 2), words, Words::kF16, 32, 2});
  }
  for (const std::string types : {"s8.s8", "u8.u8", "s8.u8", "u8.s8"}) {
    for (const std::string clamp : {"", "satfinite."}) {
      probes.push_back({Mma("m16n8k32", clamp + "s32." + types + ".s32", 4, 2, 4), Words::kAny, Words::kAny});
      probes.push_back({Mma("m16n8k16", clamp + "s32." + types + ".s32", 2, 1, 4), Words::kAny, Words::kAny});
      probes.push_back({Mma("m8n8k16", clamp + "s32." + types + ".s32", 1, 1, 2), Words::kAny, Words::kAny, 32, 2});
    }
  }
  probes.push_back({Mma("m16n8k64", "s32.s4.u4.s32", 4, 2, 4), Words::kAny, Words::kAny});
  probes.push_back({MmaF64("m8n8k4", 1, 1, 2), Words::kF64, Words::kF64, 32, 4});
  probes.push_back({MmaF64("m16n8k4", 2, 1, 4), Words::kF64, Words::kF64, 32, 8});
  probes.push_back({MmaF64("m16n8k8", 4, 2, 4), Words::kF64, Words::kF64, 32, 8});
}

void AddMatrixMoves(std::vector<MatrixProbe>& probes) {
  for (const std::string trans : {"", ".trans"}) {
    for (int count : {1, 2, 4}) {
      const std::string shape = ".sync.aligned.m8n8.x" + std::to_string(count) + trans + ".shared.b16 ";
      MatrixProbe load{
          "ldmatrix" + shape + List("y", 0, count) + ", [%row];", Words::kAny, Words::kAny, 32, count, 512};
      MatrixProbe store{
          "stmatrix" + shape + "[%row], " + List("x", 0, count) + ";", Words::kAny, Words::kAny, 32, 4, 512};
      store.stores_to_shared = true;
      probes.push_back(load);
      probes.push_back(store);
    }
  }
  probes.push_back({"movmatrix.sync.aligned.m8n8.trans.b16 %y0, %x0;", Words::kAny, Words::kAny, 32, 1});
}

struct Layout {  // of both factors; bytes
  int swizzle;   // field of the descriptor
  int leading, stride, offset;
};

std::string DescriptorText(const std::string& name, const Layout& layout, int start) {
  const uint64_t fields = static_cast<uint64_t>(layout.swizzle) << 62 |
                          static_cast<uint64_t>(layout.stride / 16) << 32 |
                          static_cast<uint64_t>(layout.leading / 16) << 16;
  return "add.s32 %t, %base, " + std::to_string(start + layout.offset) +
         "; shr.u32 %t, %t, 4; and.b32 %t, %t, 16383; " + "cvt.u64.u32 " + name + ", %t; or.b64 " + name + ", " + name +
         ", " + std::to_string(fields) + "; ";
}

MatrixProbe Wgmma(const std::string& shape, const std::string& types, Words factors, Words results, int words,
                  const Layout& layout, bool a_in_registers, const std::string& tail, const std::string& scale) {
  std::string text = DescriptorText("%da", layout, 0) + DescriptorText("%db", layout, 20480);
  text += "wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned." + shape + "." + types + " " + List("y", 0, words) +
          ", " + (a_in_registers ? List("x", 0, 4) : "%da") + ", %db, " + scale + tail +
          "; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;";
  return {text, factors, results, 128, words, 40960};
}

void AddWgmma(std::vector<MatrixProbe>& probes) {
  const Layout layouts[] = {{0, 128, 256, 0},    {0, 2048, 512, 0},   {1, 16, 1024, 0},
                            {1, 4096, 1024, 0},  {1, 1024, 2048, 32}, {2, 2048, 512, 0},
                            {2, 1024, 1024, 32}, {3, 512, 256, 0},    {3, 1024, 512, 0}};
  for (const Layout& layout : layouts) {
    for (const std::string trans : {"0, 0", "0, 1", "1, 0", "1, 1"}) {
      probes.push_back(
          Wgmma("m64n32k16", "f32.f16.f16", Words::kF16, Words::kF32, 16, layout, false, ", 1, 1, " + trans, "1"));
    }
    for (const std::string trans : {"0", "1"}) {
      probes.push_back(
          Wgmma("m64n64k16", "f32.bf16.bf16", Words::kBf16, Words::kF32, 32, layout, true, ", 1, 1, " + trans, "1"));
    }
    probes.push_back(Wgmma("m64n32k8", "f32.tf32.tf32", Words::kF32, Words::kF32, 16, layout, false, ", 1, 1", "1"));
    probes.push_back(Wgmma("m64n32k32", "f32.e4m3.e4m3", Words::kE4m3, Words::kF32, 16, layout, false, ", 1, 1", "1"));
  }
  const Layout plain = layouts[2];
  probes.push_back(Wgmma("m64n24k16", "f32.f16.f16", Words::kF16, Words::kF32, 12, plain, false, ", -1, 1, 0, 0", "1"));
  probes.push_back(Wgmma("m64n8k16", "f32.f16.f16", Words::kF16, Words::kF32, 4, plain, false, ", 1, -1, 0, 0", "0"));
  probes.push_back(Wgmma("m64n32k16", "f16.f16.f16", Words::kF16, Words::kF16, 8, plain, false, ", 1, 1, 0, 0", "1"));
  probes.push_back(Wgmma("m64n32k16", "f16.f16.f16", Words::kF16, Words::kF16, 8, plain, true, ", 1, 1, 0", "1"));
  probes.push_back(Wgmma("m64n32k8", "f32.tf32.tf32", Words::kF32, Words::kF32, 16, plain, true, ", 1, 1", "1"));
  for (const std::string types : {"e4m3.e4m3", "e5m2.e5m2", "e5m2.e4m3"}) {
    const Words words = types[1] == '4' ? Words::kE4m3 : Words::kE5m2;
    probes.push_back(Wgmma("m64n32k32", "f32." + types, words, Words::kF32, 16, plain, true, ", 1, 1", "1"));
    probes.push_back(Wgmma("m64n32k32", "f32." + types, words, Words::kF32, 16, plain, false, ", 1, 1", "0"));
    probes.push_back(Wgmma("m64n32k32", "f16." + types, words, Words::kF16, 8, plain, false, ", 1, 1", "1"));
  }
  probes.push_back(Wgmma("m64n32k32", "s32.s8.s8", Words::kAny, Words::kAny, 16, plain, false, "", "1"));
  probes.push_back(Wgmma("m64n32k32.satfinite", "s32.u8.s8", Words::kAny, Words::kAny, 16, plain, true, "", "1"));
}

class Generator {
 public:
  Generator(uint32_t seed, int flavour) : random_(seed), flavour_(flavour) {}

  uint32_t Word(Words words) {
    switch (words) {
      case Words::kF16:
        return Pack(16, 10);
      case Words::kBf16:
        return Pack(16, 7);
      case Words::kF32:
        return Pack(32, 23);
      case Words::kE4m3:
        return Pack(8, 3);
      case Words::kE5m2:
        return Pack(8, 2);
      case Words::kF64:
        high_ = !high_;
        if (high_) return static_cast<uint32_t>(double_ = Float(64, 52));
        return static_cast<uint32_t>(double_ >> 32);
      case Words::kAny:
        return static_cast<uint32_t>(random_());
    }
    return 0;
  }

 private:
  uint32_t Pack(int bits, int fraction) {
    uint32_t word = 0;
    for (int i = 0; i < 32; i += bits) word |= static_cast<uint32_t>(Float(bits, fraction) << i);
    return word;
  }

  uint64_t Float(int bits, int fraction) {
    const uint64_t bias = (uint64_t{1} << (bits - 2 - fraction)) - 1;
    const uint64_t sign = (random_() & 1) << (bits - 1), low = random_() & ((uint64_t{1} << fraction) - 1);
    uint64_t field = bias - 2 + random_() % 5;
    if (flavour_ == 1) field = 1 + random_() % (bias > 60 ? 80 : 2 * bias - 1) + (bias > 60 ? bias - 40 : 0);
    if (flavour_ == 2) {
      const uint64_t kind = random_() % 8;
      if (kind < 3) return sign;
      field = kind < 6 ? 0 : random_() % (bias > 60 ? 70 : 4);
    }
    if (flavour_ == 3 && random_() % 64 == 0) {
      field = 2 * bias + 1;
      return sign | field << fraction | (random_() % 2 == 0 ? 0 : low);
    }
    return sign | field << fraction | low;
  }

  std::mt19937_64 random_;
  int flavour_;
  uint64_t double_ = 0;
  bool high_ = false;
};

std::string LoadWords(int count, const std::string& prefix, const std::string& pointer) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += "  ld.global.b32 %" + prefix + std::to_string(i) + ", [" + pointer + "+" + std::to_string(4 * i) + "];\n";
  }
  return text;
}

}  // namespace

std::vector<MatrixProbe> MatrixProbes() {
  std::vector<MatrixProbe> probes;
  AddMma(probes);
  AddMatrixMoves(probes);
  AddWgmma(probes);
  return probes;
}

std::vector<uint32_t> MatrixInput(const MatrixProbe& probe, int blocks) {
  std::vector<uint32_t> words;
  for (int block = 0; block < blocks; ++block) {
    Generator generator(static_cast<uint32_t>(block) + 17, block % 4);
    for (uint32_t i = 0; i < probe.shared_bytes / 4; ++i) words.push_back(generator.Word(probe.factors));
    for (int i = 0; i < 16 * probe.threads; ++i) words.push_back(generator.Word(probe.factors));
    for (int i = 0; i < probe.result_words * probe.threads; ++i) words.push_back(generator.Word(probe.results));
  }
  return words;
}

std::string MatrixKernel(const MatrixProbe& probe) {
  const std::string lane_bytes = std::to_string(4 * probe.result_words), threads = std::to_string(probe.threads);
  const uint32_t block_bytes =
      probe.shared_bytes + static_cast<uint32_t>(probe.threads * (64 + 4 * probe.result_words));
  std::string text = R"(.version 8.7
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 memory[];
.visible .entry probe(.param .u64 in, .param .u64 out)
{
  .reg .b64 %z<8>, %v<4>, %da, %db, %in, %out, %at, %offset;
  .reg .b32 %x<16>, %y<64>, %t, %thread, %block, %base, %row, %i, %to, %word;
  .reg .pred %p;
  mov.u32 %thread, %tid.x;
  mov.u32 %block, %ctaid.x;
  mov.u32 %base, memory;
  ld.param.u64 %in, [in];
  ld.param.u64 %out, [out];
  mul.wide.u32 %offset, %block, )" +
                     std::to_string(block_bytes) + R"(;
  add.s64 %in, %in, %offset;
  mad.lo.s32 %t, %block, )" +
                     threads + R"(, %thread;
  mul.wide.u32 %offset, %t, )" +
                     lane_bytes + R"(;
  add.s64 %out, %out, %offset;
  mul.lo.s32 %t, %thread, 7;
  and.b32 %t, %t, 31;
  mad.lo.s32 %row, %t, 16, %base;
  shl.b32 %i, %thread, 2;
fill:
  setp.ge.u32 %p, %i, )" +
                     std::to_string(probe.shared_bytes) + R"(;
  @%p bra filled;
  cvt.u64.u32 %offset, %i;
  add.s64 %at, %in, %offset;
  ld.global.b32 %word, [%at];
  add.s32 %to, %base, %i;
  st.shared.b32 [%to], %word;
  add.s32 %i, %i, )" +
                     std::to_string(4 * probe.threads) + R"(;
  bra fill;
filled:
  fence.proxy.async;
  bar.sync 0;
  mul.wide.u32 %offset, %thread, 64;
  add.s64 %at, %in, %offset;
  add.s64 %at, %at, )" +
                     std::to_string(probe.shared_bytes) + ";\n";
  text += LoadWords(16, "x", "%at");
  for (int i = 0; i < 8; ++i) {
    text += "  mov.b64 %z" + std::to_string(i) + ", {%x" + std::to_string(2 * i) + ", %x" + std::to_string(2 * i + 1) +
            "};\n";
  }
  text += "  mul.wide.u32 %offset, %thread, " + lane_bytes + ";\n  add.s64 %at, %in, %offset;\n  add.s64 %at, %at, " +
          std::to_string(probe.shared_bytes + static_cast<uint32_t>(64 * probe.threads)) + ";\n";
  text += LoadWords(probe.result_words, "y", "%at");
  const bool doubles = probe.results == Words::kF64;
  for (int i = 0; doubles && i < probe.result_words / 2; ++i) {
    text += "  mov.b64 %v" + std::to_string(i) + ", {%y" + std::to_string(2 * i) + ", %y" + std::to_string(2 * i + 1) +
            "};\n";
  }
  text += "  " + probe.text + "\n";
  for (int i = 0; doubles && i < probe.result_words / 2; ++i) {
    text += "  mov.b64 {%y" + std::to_string(2 * i) + ", %y" + std::to_string(2 * i + 1) + "}, %v" + std::to_string(i) +
            ";\n";
  }
  if (probe.stores_to_shared) {
    text += "  bar.sync 0;\n  mad.lo.s32 %t, %thread, " + lane_bytes + ", %base;\n";
    for (int i = 0; i < probe.result_words; ++i) {
      text += "  ld.shared.b32 %y" + std::to_string(i) + ", [%t+" + std::to_string(4 * i) + "];\n";
    }
  }
  for (int i = 0; i < probe.result_words; ++i) {
    text += "  st.global.b32 [%out+" + std::to_string(4 * i) + "], %y" + std::to_string(i) + ";\n";
  }
  return text + "  ret;\n}\n";
}

}  // namespace samebits::device_test
