// Hostile input: more than 2^32 elements, in memory that is mostly not there. The zeros of x are
// pages that were never written; y is a small block of memory mapped again and again, but for its
// end.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "c_api/hostile.h"

namespace dequant::testing::c::huge_test {
namespace {

constexpr size_t kWindow = size_t{64} << 20;
constexpr int64_t kColumns = 1021;
constexpr int64_t kRows = (int64_t{1} << 32) / kColumns + 2;
constexpr size_t kCount = size_t{kRows} * kColumns;

/// Address space, given back at the end.
class Reserved {
 public:
  Reserved(size_t size, int protection)
      : size_(size),
        at_(mmap(nullptr, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  ~Reserved() {
    if (good()) munmap(at_, size_);
  }
  Reserved(const Reserved&) = delete;
  Reserved& operator=(const Reserved&) = delete;

  bool good() const { return at_ != MAP_FAILED; }
  unsigned char* data() const { return static_cast<unsigned char*>(at_); }

  /// Maps one window of shared memory everywhere but at the end: the last two have their own.
  bool alias() const {
    const int file = memfd_create("aliased", 0);
    bool mapped = file >= 0 && ftruncate(file, 3 * kWindow) == 0;
    for (size_t at = 0; mapped && at < size_; at += kWindow) {
      const size_t left = size_ - at;
      const size_t from = left > 2 * kWindow ? 0 : left > kWindow ? kWindow : 2 * kWindow;
      mapped = mmap(data() + at, std::min(kWindow, left), PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_FIXED, file, static_cast<off_t>(from)) != MAP_FAILED;
    }
    if (file >= 0) close(file);
    return mapped;
  }

 private:
  size_t size_;
  void* at_;
};

TEST(Hostile, MoreThanTwoToThe32ElementsAreExactToTheLast) {
  const auto planned = plan(OnnxNode{.x = DEQUANT_UINT2,
                                     .x_dims = {kRows, kColumns},
                                     .scale_dims = {kColumns},
                                     .axis = 1,
                                     .output_dtype = DEQUANT_BFLOAT16});
  ASSERT_TRUE(succeeds(planned));
  const auto sizes = sizes_of(planned);
  ASSERT_EQ(sizes.elements, int64_t{kCount});
  ASSERT_GT(kCount, size_t{1} << 32);
  const Reserved x(sizes.x_bytes, PROT_READ | PROT_WRITE);
  const Reserved y(sizes.y_bytes, PROT_NONE);
  if (!x.good() || !y.good() || !y.alias()) GTEST_SKIP() << "no address space for 10 GiB";

  // The last three rows hold 0 1 2 3 0 1 ...; bfloat16 holds all products, up to 3 * 85.
  std::vector<float> scale(kColumns);
  for (size_t i = 0; i < scale.size(); ++i) scale[i] = static_cast<float>(i % 85 + 1);
  constexpr size_t kTail = 3 * size_t{kColumns};
  for (size_t i = kCount - kTail; i < kCount; ++i) {
    x.data()[i / 4] |= static_cast<unsigned char>(i % 4 << i % 4 * 2);
  }
  auto view = sized<dequant_buffers>();
  view.x = x.data();
  view.x_bytes = sizes.x_bytes;
  view.scale = scale.data();
  view.scale_bytes = scale.size() * sizeof(float);
  view.y = y.data();
  view.y_bytes = sizes.y_bytes;
  ASSERT_TRUE(succeeds(run(planned, view)));

  for (size_t i = kCount - kTail; i < kCount; ++i) {
    uint16_t got = 0;
    std::memcpy(&got, y.data() + 2 * i, sizeof got);
    const auto want = static_cast<float>(i % 4) * scale[i % size_t{kColumns}];
    uint32_t bits = 0;
    std::memcpy(&bits, &want, sizeof bits);
    ASSERT_EQ(uint32_t{got} << 16, bits) << "element " << i << " of " << kCount;
  }
}

}  // namespace
}  // namespace dequant::testing::c::huge_test
