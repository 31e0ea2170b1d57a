// Running plans through the kernels' bodies on the host, on exact copies of the buffers.
#pragma once

#include "dequant/cuda.h"
#include "support/slices.h"

namespace dequant::testing {

/// Memory of its own that starts `misaligned` bytes after an address aligned to 64.
class DeviceMemory {
 public:
  DeviceMemory(std::span<const std::byte> bytes, size_t misaligned)
      : storage_(bytes.size() + 128), size_(bytes.size()) {
    const auto address = reinterpret_cast<uintptr_t>(storage_.data());
    start_ = (64 - address % 64) % 64 + misaligned;
    std::copy(bytes.begin(), bytes.end(), storage_.begin() + static_cast<ptrdiff_t>(start_));
  }

  std::span<std::byte> span() { return std::span(storage_).subspan(start_, size_); }

 private:
  Bytes storage_;
  size_t size_;
  size_t start_;
};

/// The bytes of y after cuda::run_range() on copies of the buffers, each `misaligned` bytes after
/// an address aligned to 64. `faults` gets the reported ones.
inline Bytes run_on_device(const Plan& plan, Range elements, const Buffers& b, size_t misaligned,
                           uint32_t* faults = nullptr) {
  const auto copy = [&](std::span<const std::byte> bytes) {
    return DeviceMemory(bytes, misaligned);
  };
  DeviceMemory x = copy(b.x), scale = copy(b.scale), zero_point = copy(b.zero_point), y = copy(b.y),
               min_range = copy(b.min_range), max_range = copy(b.max_range),
               tensor_scale = copy(b.tensor_scale), group_index = copy(b.group_index),
               codebook = copy(b.codebook);
  uint32_t seen = 0;
  const Status status = cuda::run_range(plan, elements,
                                        {.x = x.span(),
                                         .scale = scale.span(),
                                         .zero_point = zero_point.span(),
                                         .y = y.span(),
                                         .min_range = min_range.span(),
                                         .max_range = max_range.span(),
                                         .tensor_scale = tensor_scale.span(),
                                         .group_index = group_index.span(),
                                         .codebook = codebook.span()},
                                        {.faults = &seen});
  EXPECT_TRUE(status) << to_string(plan) << ": " << status.error().message;
  if (faults != nullptr) *faults = seen;
  EXPECT_TRUE(faults != nullptr || seen == 0) << to_string(plan) << ": faults " << seen;
  const auto got = y.span();
  return {got.begin(), got.end()};
}

/// For ASSERT_TRUE: run() gives the bytes of y that the device gives, which begin as b.y.
inline ::testing::AssertionResult same_on_device(const Plan& plan, Range elements, Buffers b,
                                                 size_t misaligned) {
  const Bytes got = run_on_device(plan, elements, b, misaligned);
  Bytes want(b.y.begin(), b.y.end());
  b.y = want;
  const Status status = run_range(plan, elements, b);
  if (!status) return ::testing::AssertionFailure() << status.error().message;
  if (got == want) return ::testing::AssertionSuccess();
  const auto at =
      std::mismatch(got.begin(), got.end(), want.begin(), want.end()).first - got.begin();
  const auto i = at * 8 / bits(plan.output);
  return ::testing::AssertionFailure()
         << to_string(plan) << " [" << elements.begin << ", " << elements.end << "): element " << i
         << " of y is " << code_at(plan.output, got, i) << ", not "
         << code_at(plan.output, want, i);
}

}  // namespace dequant::testing
