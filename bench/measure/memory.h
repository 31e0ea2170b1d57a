// Memory for tensors: on huge pages if the system grants them, and written before measurements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dequant/element.h"
#include "dequant/status.h"

namespace dequant::bench {

/// The initial content of a tensor.
enum class Fill : uint8_t {
  nothing,     ///< zeros, for an output
  codes,       ///< random bits
  wide_codes,  ///< 32-bit integers below 2^24, like sums of products
  float32,     ///< numbers from 0.03 to 0.13, so that no result underflows or overflows
  float16,
  bfloat16,
  groups,  ///< entries of a group index, from 0 to 7 in any order
  blocks,  ///< bytes from 0x20 to 0x3F: scales of every block type are ordinary numbers
};

/// The memory of one tensor. It grows to the largest requested size and keeps its content.
class Memory {
 public:
  /// The tensor starts `lead` bytes, a multiple of 64, after the start of a page. Tensors at the
  /// same offset within their pages would compete for the same cache sets.
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

/// Bytes of memory that this process can allocate without swapping, as the system reports;
/// INT64_MAX if the system reports nothing.
int64_t available_memory();

/// Bytes of the largest cache, as the system reports; 32 MiB if the system reports nothing.
int64_t last_level_cache_bytes();

}  // namespace dequant::bench
