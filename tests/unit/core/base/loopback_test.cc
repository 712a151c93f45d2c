#include "core/base/loopback.h"

#include <gtest/gtest.h>

namespace samebits {
namespace {

TEST(LoopbackTest, IsTrueOnlyWhereItIsSure) {
  for (const char* address : {"127.0.0.1:7433", "127.0.0.1", "127.9.8.7:0", "localhost:7433", "localhost", "[::1]:7433",
                              "[::1]", "unix:/run/samebits.sock", "unix-abstract:x", "dns:///localhost:1",
                              "ipv4:127.0.0.1:80", "ipv6:[::1]:80"})
    EXPECT_TRUE(IsLoopback(address)) << address;
  for (const char* address : {"", "0.0.0.0:7433", "127.example.com:7433", "127.0.0.1.example.com:7433", "[::]:7433",
                              "10.0.0.1:7433", "localhost.example.com:1", "samebits.example:7433", "[::1", "[::12]:1",
                              "ipv4:10.0.0.1:80", "ipv4:127.0.0.1:80,10.0.0.1:80", "127.0.0.1:80,10.0.0.1:80", "127.1:80",
                              "ipv6:[::1]:80,[2001:db8::1]:80"})
    EXPECT_FALSE(IsLoopback(address)) << address;
}

}  // namespace
}  // namespace samebits
