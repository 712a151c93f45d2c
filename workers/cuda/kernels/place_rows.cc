#include "workers/cuda/kernels/place_rows.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace samebits::workers {
namespace {

constexpr char kHead[] = R"(.version 7.0
.target sm_70
.address_size 64
)";

// %rd7 is the thread's element, %rd8 the number of threads.
constexpr char kThread[] = R"(
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mov.u32 %r4, %nctaid.x;
  mul.wide.u32 %rd7, %r1, %r2;
  cvt.u64.u32 %rd8, %r3;
  add.u64 %rd7, %rd7, %rd8;
  mul.wide.u32 %rd8, %r4, %r2;
)";

constexpr char kScatter[] = R"(
.visible .entry scatter_$WIDTH(.param .u64 to, .param .u64 from, .param .u64 index, .param .u64 count, .param .u64 k,
                               .param .u64 row_stride, .param .u64 k_stride)
{
  .reg .pred %p<3>;
  .reg .b32 %r<5>;
  .reg .b64 %rd<20>;
  .reg .$REGISTER %v;
  ld.param.u64 %rd0, [to];
  ld.param.u64 %rd1, [from];
  ld.param.u64 %rd2, [index];
  ld.param.u64 %rd3, [count];
  ld.param.u64 %rd4, [k];
  ld.param.u64 %rd5, [row_stride];
  ld.param.u64 %rd6, [k_stride];
$THREAD
  setp.eq.u64 %p1, %rd1, 0;
LOOP:
  setp.ge.u64 %p0, %rd7, %rd3;
  @%p0 bra DONE;
  div.u64 %rd9, %rd7, %rd4;
  mul.lo.u64 %rd10, %rd9, %rd4;
  sub.u64 %rd11, %rd7, %rd10;
  shl.b64 %rd12, %rd9, 3;
  add.u64 %rd12, %rd2, %rd12;
  ld.global.u64 %rd13, [%rd12];
  mul.lo.u64 %rd13, %rd13, %rd5;
  mul.lo.u64 %rd14, %rd11, %rd6;
  add.u64 %rd13, %rd13, %rd14;
  mul.lo.u64 %rd13, %rd13, $WIDTH;
  add.u64 %rd13, %rd0, %rd13;
  mov.$REGISTER %v, 0;
  @%p1 bra STORE;
  mul.lo.u64 %rd15, %rd7, $WIDTH;
  add.u64 %rd15, %rd1, %rd15;
  ld.global.$TYPE %v, [%rd15];
STORE:
  st.global.$TYPE [%rd13], %v;
  add.u64 %rd7, %rd7, %rd8;
  bra LOOP;
DONE:
  ret;
}
)";

constexpr char kGather[] = R"(
.visible .entry gather_$WIDTH(.param .u64 to, .param .u64 from, .param .u64 index, .param .u64 count)
{
  .reg .pred %p<3>;
  .reg .b32 %r<5>;
  .reg .b64 %rd<20>;
  .reg .$REGISTER %v;
  ld.param.u64 %rd0, [to];
  ld.param.u64 %rd1, [from];
  ld.param.u64 %rd2, [index];
  ld.param.u64 %rd3, [count];
$THREAD
LOOP:
  setp.ge.u64 %p0, %rd7, %rd3;
  @%p0 bra DONE;
  shl.b64 %rd12, %rd7, 3;
  add.u64 %rd12, %rd2, %rd12;
  ld.global.u64 %rd13, [%rd12];
  mul.lo.u64 %rd13, %rd13, $WIDTH;
  add.u64 %rd13, %rd1, %rd13;
  ld.global.$TYPE %v, [%rd13];
  mul.lo.u64 %rd15, %rd7, $WIDTH;
  add.u64 %rd15, %rd0, %rd15;
  st.global.$TYPE [%rd15], %v;
  add.u64 %rd7, %rd7, %rd8;
  bra LOOP;
DONE:
  ret;
}
)";

}  // namespace

std::string PlaceRowsPtx() {
  std::string text = kHead;
  for (int width : {1, 2, 4, 8}) {
    const std::string type = absl::StrCat("u", 8 * width), kept = width == 8 ? "b64" : "b32";
    for (const char* kernel : {kScatter, kGather}) {
      std::string body = absl::StrReplaceAll(kernel, {{"$THREAD", kThread}});
      absl::StrAppend(&text, absl::StrReplaceAll(body, {{"$WIDTH", absl::StrCat(width)}, {"$TYPE", type}, {"$REGISTER", kept}}));
    }
  }
  return text;
}

}  // namespace samebits::workers
