// Reading the bytes of one stored tensor, whatever its storage in the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dequant/executor.h"
#include "dequant/plan.h"
#include "dequant/tensor.h"

namespace dequant::format {

/// True if the codes, or the zero points, have a Packing. Their reader then reads bytes: its
/// elements are of 8 bits, and it has as many as bytes are stored.
inline bool has_packed_codes(const Plan& plan) {
  return plan.parameters.x_packing.order != CodeOrder::of_element;
}
inline bool has_packed_zero_points(const Plan& plan) {
  return plan.parameters.zero_point_packing.order != CodeOrder::of_element;
}

/// Reads a stored tensor once from front to back, or ranges in any order where the storage is
/// seekable. Bytes are packed and little-endian, as in dequant::Buffers. Formats derive from this
/// class.
class StoredReader {
 public:
  virtual ~StoredReader() = default;

  Element element() const { return element_; }
  int64_t count() const { return count_; }         ///< elements
  int64_t left() const { return count_ - done_; }  ///< elements that read() has not yet returned

  /// True if read_at() may be called.
  virtual bool seekable() const = 0;

  /// Fills `out` with the packed bytes of a range that starts at a multiple of 8 elements. Any
  /// number of threads may call it at once. Fails with io, malformed or limit.
  virtual Status read_at(Range elements, std::span<std::byte> out) const = 0;

  /// Fills `out` with the packed bytes of the next `count` elements. `count` is a multiple of 8, or
  /// all elements that are left. Fails as read_at() does.
  Status read(int64_t count, std::span<std::byte> out);

  /// The same, in a buffer of the reader that is valid until the next call.
  Result<std::span<const std::byte>> next(int64_t count);

  /// All bytes; nothing may have been read before. Fails with limit where they are more than
  /// `most`, and as read_at() does.
  Result<std::vector<std::byte>> whole(int64_t most);

  /// The same of a seekable storage, by calls of read_at() on the threads of the executor.
  Result<std::vector<std::byte>> whole_at(int64_t most, const Executor& executor);

  /// Must be called after the last read. Fails with malformed where the storage holds more
  /// elements, or where the file changed since it was opened.
  virtual Status finish() = 0;

 protected:
  StoredReader() = default;
  StoredReader(Element element, int64_t count) : element_(element), count_(count) {}
  StoredReader(StoredReader&&) noexcept = default;
  StoredReader& operator=(StoredReader&&) noexcept = default;

  /// Reads the range that follows the one of the call before.
  virtual Status read_next(Range elements, std::span<std::byte> out) = 0;

  /// For messages: "tensor conv1.weight".
  virtual std::string label() const = 0;

  Element element_ = Element::float32;
  int64_t count_ = 0;

 private:
  /// The bytes of all elements. Fails with limit where they are more than `most`.
  Result<int64_t> all_bytes(int64_t most) const;

  int64_t done_ = 0;
  std::vector<std::byte> part_;  ///< of next()
};

}  // namespace dequant::format
