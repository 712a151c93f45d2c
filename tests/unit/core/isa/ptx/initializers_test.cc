#include "tests/unit/core/isa/ptx/test_util.h"

namespace samebits::isa::ptx {
namespace {

std::string Hex(const std::vector<uint8_t>& bytes) {
  static const char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (uint8_t byte : bytes) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

// The bytes are what the vendor's assembler puts into the section of initialised data; those after the last one given
// are zero.
TEST(InitializersTest, Bytes) {
  struct Case {
    const char* declaration;
    const char* bytes;
    uint64_t size;
  };
  const Case kCases[] = {
      {".b32 x", "", 4},
      {".b32 x = 7", "07000000", 4},
      {".b16 x = -2", "feff", 2},
      {".b32 x[4] = {1}", "01000000", 16},
      {".b32 x[2] = {}", "", 8},
      {".b32 x[] = {1, 2, 3}", "010000000200000003000000", 12},
      {".b32 x[2] = {5000000000, -5000000000}", "00f2052a000efad5", 8},
      {".b8 x[4] = {300, -129, 1, 2}", "2c7f0102", 4},
      {".b32 x[2][2] = {{1}, {2}}", "010000000000000002000000", 16},
      {".b8 x[2][2][2] = {{{1}, {2, 3}}, {{4}}}", "0100020304", 8},
      {".b8 x[][2] = {{1}, {2, 3}, {4}}", "0100020304", 6},
      {".v2 .b32 x[2] = {{1, 2}, {3, 4}}", "01000000020000000300000004000000", 16},
      {".v4 .b16 x = {1, 2, 3, 4}", "0100020003000400", 8},
      {".f32 x[2] = {-1.5, 1.5 + 2.0}", "0000c0bf00006040", 8},
      {".f32 x[2] = {0d3ff8000000000000, 0f3f800000}", "0000c03f0000803f", 8},
      {".f64 x[2] = {0f3f800000, 1.5}", "0000803f00000000000000000000f83f", 16},
      {".b32 x[3] = {0f3f800000, 1.5, 0d3ff8000000000000}", "0000803f0000c03f0000c03f", 12},
      {".b64 x[2] = {0f3f800000, 1.5}", "0000803f00000000000000000000f83f", 16},
      {".b16 x[2] = {0f3f800000, 1}", "00000100", 4},
      {".u64 x = 0xffffffffffffffff", "ffffffffffffffff", 8},
      {".u32 x = WARP_SZ", "20000000", 4},
  };
  for (const Case& c : kCases) {
    const Module module = ParseText(std::string(".global ") + c.declaration + ";");
    ASSERT_EQ(module.symbols.size(), 1u) << c.declaration;
    EXPECT_EQ(Hex(module.symbols[0].init), c.bytes) << c.declaration;
    EXPECT_EQ(module.symbols[0].size, c.size) << c.declaration;
    EXPECT_FALSE(module.symbols[0].init_has_addresses);
  }
}

TEST(InitializersTest, Addresses) {
  const Module module = ParseText(
      ".global .b32 a; .func f () { ret; }\n"
      ".global .u64 x[6] = {1, a, generic(a) + 4, a+-8, f, a + 2 * 4 + 1};\n"
      ".global .u8 m[3] = {0xFF(a), 0xFF00(generic(a) + 8), 7};\n");
  ASSERT_EQ(module.symbols.size(), 4u);
  const Symbol& x = module.symbols[2];
  EXPECT_TRUE(x.init_has_addresses);
  EXPECT_EQ(x.init.size(), 48u);
  ASSERT_EQ(x.init_addresses.size(), 5u);
  struct Case {
    uint64_t offset, mask;
    uint32_t symbol;
    int64_t addend;
    bool is_generic;
  };
  const Case kX[] = {
      {8, 0, 0, 0, false}, {16, 0, 0, 4, true}, {24, 0, 0, -8, false}, {32, 0, 1, 0, false}, {40, 0, 0, 9, false}};
  const Case kM[] = {{0, 0xff, 0, 0, false}, {1, 0xff00, 0, 8, true}};
  const auto expect = [](const InitAddress& address, const Case& c) {
    EXPECT_EQ(address.offset, c.offset);
    EXPECT_EQ(address.mask, c.mask);
    EXPECT_EQ(address.symbol, c.symbol);
    EXPECT_EQ(address.addend, c.addend);
    EXPECT_EQ(address.is_generic, c.is_generic);
  };
  for (int i = 0; i < 5; ++i) expect(x.init_addresses[i], kX[i]);
  ASSERT_EQ(module.symbols[3].init_addresses.size(), 2u);
  for (int i = 0; i < 2; ++i) expect(module.symbols[3].init_addresses[i], kM[i]);
  EXPECT_EQ(module.symbols[3].init[2], 7);
}

TEST(InitializersTest, Malformed) {
  struct Case {
    const char* declaration;
    const char* what;
  };
  const Case kCases[] = {
      {".global .b32 x[2] = {1, 2, 3};", "too many initialisers"},
      {".global .b32 x[2][2] = {{1, 2, 3}};", "too many initialisers"},
      {".global .b32 x[2] = {{1}, {2}, {3}};", "too many initialisers"},
      {".global .b32 x[2] = {{{1}}};", "braces are nested too deeply"},
      {".global .b32 x[2] = {1,};", "expected an operand"},
      {".global .b32 x[2] = {1;", "expected ','"},
      {".global .b32 x[2] = 1;", "expected '{'"},
      {".global .f32 x = 1;", "initialiser does not fit the type"},
      {".global .f16 x = 1.5;", "initialiser does not fit the type"},
      {".global .u32 x = 1.5;", "initialiser does not fit the type"},
      {".global .u64 x = y;", "undeclared name"},
      {".global .u64 x = x;", "undeclared name"},
      {".global .u64 x = generic();", "expected a name"},
      {".global .b8 x[3] = \"ab\";", "expected '{'"},
      {".shared .b32 x = 1;", "only .global and .const variables have initialisers"},
      {".global .texref t = {", "initialiser without end"},
  };
  for (const Case& c : kCases) {
    ParseError error;
    ASSERT_TRUE(GetParseError(Parse(std::string(kHeader) + c.declaration).status(), &error)) << c.declaration;
    EXPECT_EQ(error.what, c.what) << c.declaration;
  }
}

TEST(InitializersTest, BytesAreBounded) {
  const absl::Status status = Parse(std::string(kHeader) + ".global .b8 x[2][1000000000000] = {{1}, {2}};").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_NE(status.message().find("max_initializer_bytes"), std::string::npos);
}

}  // namespace
}  // namespace samebits::isa::ptx
