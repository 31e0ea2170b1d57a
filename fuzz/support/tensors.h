// Memory for plans, each buffer as long as it must be and no byte longer: the address sanitizer
// sees the first byte read or written beyond.
#pragma once

#include <memory>
#include <optional>

#include "dequant/plan.h"
#include "fuzz/support/cursor.h"

namespace dequant::fuzz {

/// What output holds before it is written.
inline constexpr std::byte kUnwritten{0xA5};

/// Bytes on the heap, misaligned as asked.
class Exact {
 public:
  explicit Exact(size_t size = 0, size_t offset = 0)
      : data_(new std::byte[size + offset]), size_(size), offset_(offset) {
    if (size > 0) std::memset(bytes().data(), static_cast<int>(kUnwritten), size);
  }

  std::span<std::byte> bytes() { return {data_.get() + offset_, size_}; }
  std::span<const std::byte> bytes() const { return {data_.get() + offset_, size_}; }
  friend bool operator==(const Exact& a, const Exact& b) {
    return a.size_ == b.size_ &&
           (a.size_ == 0 || std::memcmp(a.bytes().data(), b.bytes().data(), a.size_) == 0);
  }

 private:
  std::unique_ptr<std::byte[]> data_;
  size_t size_;
  size_t offset_;
};

Exact copy(const Exact& bytes);

/// True if all bytes are as Exact made them.
bool untouched(const Exact& y);

struct Tensors {
  Exact x, scale, zero_point, min_range, max_range, tensor_scale, group_index, codebook;
  size_t y_bytes = 0;
  size_t y_offset = 0;

  Exact y() const { return Exact(y_bytes, y_offset); }
  Buffers buffers(Exact& y) const;
};

/// Elements that are run at most.
inline constexpr int64_t kMostElements = int64_t{1} << 12;
/// What seven of eight inputs run at most, so that there are many of them.
inline constexpr int64_t kManyElements = 64;
/// Bytes of codes in a layout of their own at most.
inline constexpr int64_t kMostBytes = int64_t{1} << 16;

/// Buffers of the plan filled from the input, as extents() counts them; none where any is too
/// large.
std::optional<Tensors> tensors_of(const Plan& plan, Cursor& cursor);

}  // namespace dequant::fuzz
