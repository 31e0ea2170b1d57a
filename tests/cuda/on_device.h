// Running plans on a device, or through the kernels' bodies on the host, on exact copies of the
// buffers: the program links one of them.
#pragma once

#include "cuda/device/device.h"
#include "support/slices.h"

namespace dequant::testing {

/// Memory of the device with a copy of some bytes, `misaligned` bytes after an address that is
/// aligned to 16 bytes or more.
class DeviceMemory {
 public:
  DeviceMemory(std::span<const std::byte> bytes, size_t misaligned) : size_(bytes.size()) {
    const auto memory = cuda::devices().allocate(size_ + misaligned + 1);
    EXPECT_TRUE(memory) << memory.error().message;
    memory_ = *memory;
    at_ = memory_ + misaligned;
    EXPECT_TRUE(size_ == 0 || cuda::devices().copy_in(at_, bytes, nullptr));
  }
  ~DeviceMemory() { cuda::devices().free(memory_); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  std::span<std::byte> span() { return {at_, size_}; }

  Bytes bytes() {
    Bytes out(size_);
    EXPECT_TRUE(size_ == 0 || cuda::devices().copy_out(out, at_, nullptr));
    return out;
  }

 private:
  std::byte* memory_ = nullptr;
  std::byte* at_ = nullptr;
  size_t size_;
};

/// The bytes of y after cuda::run_range() on copies of the buffers, each `misaligned` bytes after
/// an aligned address. `faults` gets the reported ones.
inline Bytes run_on_device(const Plan& plan, Range elements, const Buffers& b, size_t misaligned,
                           uint32_t* faults = nullptr) {
  DeviceMemory x(b.x, misaligned), scale(b.scale, misaligned), zero_point(b.zero_point, misaligned),
      y(b.y, misaligned), min_range(b.min_range, misaligned), max_range(b.max_range, misaligned),
      tensor_scale(b.tensor_scale, misaligned), group_index(b.group_index, misaligned),
      codebook(b.codebook, misaligned);
  const Bytes none(sizeof(uint32_t));
  DeviceMemory seen(none, 0);
  const Status status =
      cuda::devices().run(plan, elements,
                          {.x = x.span(),
                           .scale = scale.span(),
                           .zero_point = zero_point.span(),
                           .y = y.span(),
                           .min_range = min_range.span(),
                           .max_range = max_range.span(),
                           .tensor_scale = tensor_scale.span(),
                           .group_index = group_index.span(),
                           .codebook = codebook.span()},
                          nullptr, reinterpret_cast<uint32_t*>(seen.span().data()));
  EXPECT_TRUE(status) << to_string(plan) << ": " << status.error().message;
  const Status done = cuda::devices().synchronize(cuda::Stream());
  EXPECT_TRUE(done) << to_string(plan) << ": " << done.error().message;
  const uint32_t reported = code_at(Element::uint32, seen.bytes(), 0);
  if (faults != nullptr) *faults = reported;
  EXPECT_TRUE(faults != nullptr || reported == 0) << to_string(plan) << ": faults " << reported;
  return y.bytes();
}

/// The buffers that run_range() takes, in memory that holds all of the tensors.
inline Buffers slices_of(const Plan& plan, Range range, const Buffers& b) {
  if (range == Range{0, element_count(plan)}) return b;
  const Slices s = dequant::slices_of(plan, range);
  const auto sub = [](auto all, Range bytes) {
    return all.subspan(static_cast<size_t>(bytes.begin),
                       static_cast<size_t>(bytes.end - bytes.begin));
  };
  const auto part = [&](Element element, std::span<const std::byte> all, Range slice) {
    return sub(all, bytes_of(element, slice));
  };
  Buffers out = b;
  out.x = sub(b.x, x_bytes_of(plan, s.x));
  out.zero_point = sub(b.zero_point, zero_point_bytes_of(plan, s.zero_point));
  out.scale = part(plan.scale, b.scale, s.scale);
  out.min_range = part(Element::float32, b.min_range, s.min_range);
  out.max_range = part(Element::float32, b.max_range, s.max_range);
  out.tensor_scale = part(Element::float32, b.tensor_scale, s.tensor_scale);
  out.group_index = part(Element::int32, b.group_index, s.group_index);
  out.y = sub(b.y, bytes_of(plan.output, s.y));
  return out;
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
