#include "server/registry/digest.h"

#include <string>

#include <gtest/gtest.h>

#include "core/base/sha256.h"

namespace samebits::server {
namespace {

TEST(DigestTest, MatchesPublishedVectors) {
  EXPECT_EQ(DigestHex(ContentDigest("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(DigestHex(ContentDigest("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(DigestTest, AgreesWithThePortableImplementation) {
  std::string bytes;
  for (int size = 0; size < 300; ++size) {
    EXPECT_EQ(ContentDigest(bytes), Sha256(bytes)) << size;
    bytes.push_back(static_cast<char>(size * 31));
  }
}

TEST(DigestTest, NamesSurviveTheRoundTrip) {
  const Digest digest = ContentDigest("x");
  EXPECT_EQ(ParseKernelName(KernelName(digest)), digest);
  EXPECT_EQ(ParseDigestHex(DigestHex(digest)), digest);
}

TEST(DigestTest, RejectsOtherNames) {
  const std::string hex = DigestHex(ContentDigest("x"));
  for (const std::string& name :
       {std::string(), std::string("kernels/"), "kernels/" + hex.substr(1), "kernels/" + hex + "0", "kernel/" + hex,
        hex, "kernels/" + hex.substr(1) + "G", "kernels/" + hex.substr(1) + "A", "Kernels/" + hex,
        "kernels/ " + hex.substr(1)})
    EXPECT_EQ(ParseKernelName(name), std::nullopt) << name;
}

}  // namespace
}  // namespace samebits::server
