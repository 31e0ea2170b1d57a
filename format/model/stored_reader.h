// The bytes of one stored tensor, wherever a file keeps them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dequant/plan.h"
#include "dequant/tensor.h"

namespace dequant::format {

/// Reads a stored tensor once from front to back, or any part of it where the storage allows. Data
/// is packed and little-endian, as dequant::Buffers takes it. Formats derive from it.
class StoredReader {
 public:
  virtual ~StoredReader() = default;

  Element element() const { return element_; }
  int64_t count() const { return count_; }         ///< elements
  int64_t left() const { return count_ - done_; }  ///< those that read() has not given

  /// True if read_at() works: any part can be had, in any order.
  virtual bool seekable() const = 0;

  /// Fills `out` with the packed bytes of a range that starts at a multiple of 8 elements. On any
  /// thread, several at a time. Fails with io, malformed or limit.
  virtual Status read_at(Range elements, std::span<std::byte> out) const = 0;

  /// Fills `out` with the packed bytes of the next elements: a multiple of 8, or all that are left.
  Status read(int64_t count, std::span<std::byte> out);

  /// The same in memory of the reader, valid until the next call.
  Result<std::span<const std::byte>> next(int64_t count);

  /// All of it, before anything else is read. Fails with limit where that is over `most` bytes.
  Result<std::vector<std::byte>> whole(int64_t most);

  /// Call after the last part: that nothing is left over, and that the file is as it was opened.
  virtual Status finish() = 0;

 protected:
  StoredReader() = default;
  StoredReader(Element element, int64_t count) : element_(element), count_(count) {}
  StoredReader(StoredReader&&) noexcept = default;
  StoredReader& operator=(StoredReader&&) noexcept = default;

  /// read() for the range that follows the one before.
  virtual Status read_next(Range elements, std::span<std::byte> out) = 0;

  /// For messages: "tensor conv1.weight".
  virtual std::string label() const = 0;

  Element element_ = Element::float32;
  int64_t count_ = 0;

 private:
  int64_t done_ = 0;
  std::vector<std::byte> part_;
};

}  // namespace dequant::format
