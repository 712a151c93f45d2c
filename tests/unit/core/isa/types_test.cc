#include "core/isa/types.h"

#include "core/isa/module.h"
#include "gtest/gtest.h"

namespace samebits::isa {
namespace {

TEST(TypesTest, EveryTypeIsFoundBySpelling) {
#define X(name, text, bits)                             \
  EXPECT_EQ(ParseType(text), ScalarType::name) << text; \
  EXPECT_EQ(TypeName(ScalarType::name), text);          \
  EXPECT_EQ(BitWidth(ScalarType::name), bits) << text;
  SAMEBITS_ISA_TYPES(X)
#undef X
  EXPECT_EQ(BitWidth(ScalarType::kNone), 0);
  EXPECT_EQ(TypeName(ScalarType::kNone), "");
}

TEST(TypesTest, OthersAreNone) {
  for (const char* text : {"", "b", "b3", "b256", "F32", ".f32", "f32 ", "f32x", "samplerreff", "b4e", "e4m3x8"}) {
    EXPECT_EQ(ParseType(text), ScalarType::kNone) << text;
  }
}

TEST(TypesTest, Classes) {
  struct Case {
    ScalarType type;
    bool is_signed, is_float, is_integer;
  };
  const Case kCases[] = {
      {ScalarType::kPred, false, false, false},    {ScalarType::kB1, false, false, false},
      {ScalarType::kS4, true, false, false},       {ScalarType::kB8, false, false, true},
      {ScalarType::kU16, false, false, true},      {ScalarType::kS64, true, false, true},
      {ScalarType::kB128, false, false, false},    {ScalarType::kF16, false, true, false},
      {ScalarType::kBf16x2, false, true, false},   {ScalarType::kTf32, false, true, false},
      {ScalarType::kF32x2, false, true, false},    {ScalarType::kS16x2, true, false, false},
      {ScalarType::kU8x4, false, false, false},    {ScalarType::kE4m3x2, false, true, false},
      {ScalarType::kUe8m0, false, true, false},    {ScalarType::kE2m1, false, true, false},
      {ScalarType::kTexref, false, false, false},  {ScalarType::kSamplerref, false, false, false},
      {ScalarType::kSurfref, false, false, false}, {ScalarType::kNone, false, false, false},
  };
  for (const Case& c : kCases) {
    EXPECT_EQ(IsSigned(c.type), c.is_signed) << TypeName(c.type);
    EXPECT_EQ(IsFloat(c.type), c.is_float) << TypeName(c.type);
    EXPECT_EQ(IsInteger(c.type), c.is_integer) << TypeName(c.type);
  }
}

TEST(SpecialTest, EverySpecialIsFoundBySpelling) {
#define X(name, text)                           \
  EXPECT_EQ(ParseSpecial(text), Special::name); \
  EXPECT_EQ(SpecialName(Special::name), text);
  SAMEBITS_PTX_SPECIALS(X)
#undef X
  EXPECT_EQ(ParseSpecial("envreg1"), Special::kOther);
  EXPECT_EQ(ParseSpecial(""), Special::kOther);
  EXPECT_EQ(SpecialName(Special::kOther), "");
}

TEST(ModuleTest, FindEntry) {
  Module module;
  EXPECT_EQ(module.FindEntry(""), kNone32);
  module.functions.resize(4);
  module.functions[0].name = "device";
  module.functions[1].name = "a";
  module.functions[1].is_entry = true;
  module.functions[2].name = "declared";
  module.functions[2].is_entry = module.functions[2].is_declaration = true;
  EXPECT_EQ(module.FindEntry(""), 1u);
  EXPECT_EQ(module.FindEntry("a"), 1u);
  EXPECT_EQ(module.FindEntry("device"), kNone32);
  EXPECT_EQ(module.FindEntry("declared"), kNone32);
  module.functions[3].name = "b";
  module.functions[3].is_entry = true;
  EXPECT_EQ(module.FindEntry(""), kNone32);
  EXPECT_EQ(module.FindEntry("b"), 3u);
}

}  // namespace
}  // namespace samebits::isa
