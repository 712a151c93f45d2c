#include "core/base/sha256.h"

#include <string>

#include "gtest/gtest.h"

namespace samebits {
namespace {

// Vectors of FIPS 180-2, appendix B, and lengths round the padding's borders.
TEST(Sha256Test, KnownDigests) {
  EXPECT_EQ(Sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256Hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(Sha256Hex(std::string(1'000'000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  struct Length {
    size_t bytes;
    const char* digest;
  };
  for (const Length& l : {Length{55, "d5e285683cd4efc02d021a5c62014694958901005d6f71e89e0989fac77e4072"},
                          Length{56, "04c26261370ee7541549d16dee320c723e3fd14671e66a099afe0a377c16888e"},
                          Length{63, "75220b47218278e656f2013bb8f0c455a25eaf01e86c64924e9d48d89776d6f2"},
                          Length{64, "7ce100971f64e7001e8fe5a51973ecdfe1ced42befe7ee8d5fd6219506b5393c"},
                          Length{65, "9537c5fdf120482f7d58d25e9ed583f52c02b4e304ea814db1633ad565aed7e9"},
                          Length{119, "000b48d4edf0fa7bee3c6236ecd2785baa5db4eeb8bb54341b029e0d9fa5fb0c"},
                          Length{120, "13f05a0b594787f5ecd315edc96141bd3243203d1b7d4f0836f37308b276ba98"},
                          Length{127, "70156a14adbabf98cff3a71c7084b417abf057a8efd27329ca36b7202c87d81f"},
                          Length{128, "24da1b81d0b16df6428eee73c69fcb2a93c76bc6df706f0c6670fe6bfe800464"}})
    EXPECT_EQ(Sha256Hex(std::string(l.bytes, 'x')), l.digest) << l.bytes;
}

TEST(Sha256Test, PiecesOfAnySizeGiveTheSameDigestAcrossProcesses) {
  std::string data;
  for (int i = 0; i < 1000; ++i) data += static_cast<char>(i * 31);
  for (const size_t piece : {1, 7, 63, 64, 65, 200}) {
    Sha256Stream stream;
    for (size_t at = 0; at < data.size(); at += piece) {
      stream.Update(std::string_view(data).substr(at, piece));
      const auto loaded = Sha256Stream::Load(stream.Save());
      ASSERT_TRUE(loaded.has_value());
      stream = *loaded;
    }
    EXPECT_EQ(stream.Digest(), Sha256(data)) << piece;
    std::string bad = stream.Save();
    EXPECT_FALSE(Sha256Stream::Load(bad + "x").has_value());
    EXPECT_FALSE(Sha256Stream::Load(bad.substr(0, 39)).has_value());
  }
}

}  // namespace
}  // namespace samebits
