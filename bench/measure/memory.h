// Memory for tensors: huge pages where the system has them, touched before it is measured.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dequant/element.h"
#include "dequant/status.h"

namespace dequant::bench {

/// What a tensor is filled with.
enum class Fill : uint8_t {
  nothing,     ///< zeros: it is written, not read
  codes,       ///< random bits
  wide_codes,  ///< 32-bit integers below 2^24, as sums of products are
  float32,     ///< plain numbers from 0.03 to 0.13, so that nothing under- or overflows
  float16,
  bfloat16,
};

/// The memory of one tensor, which grows to the largest need and keeps its contents.
class Memory {
 public:
  /// `lead` bytes lie before the tensor, a multiple of 64: tensors that all start on the same
  /// address within a page would fall on the same lines of a cache.
  explicit Memory(size_t lead) : lead_(lead) {}
  ~Memory() { release(); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  /// Fails with out_of_memory.
  Result<std::span<std::byte>> get(int64_t size, Fill fill);
  void release() noexcept;
  int64_t held() const noexcept { return static_cast<int64_t>(size_); }

 private:
  size_t lead_;
  std::byte* map_ = nullptr;
  size_t mapped_ = 0;
  std::byte* data_ = nullptr;
  size_t size_ = 0;
  size_t filled_ = 0;
  Fill fill_ = Fill::nothing;
};

/// Bytes that this process can still take without anyone's swapping, as the system says; INT64_MAX
/// where it says nothing.
int64_t available_memory();

/// Of the largest cache, as the system says; 32 MiB where it says nothing.
int64_t last_level_cache_bytes();

}  // namespace dequant::bench
