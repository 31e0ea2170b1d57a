// Reading the codes of x, and of zero points, whatever their layout, as a byte or more each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dequant/plan.h"
#include "kernel/kernel.h"

namespace dequant {

/// True if kernels cannot read the codes of x where they lie, as all must be unpacked first.
bool unpacks_codes(const Plan& plan) noexcept;

/// Codes of a tensor with or without a Packing.
class PackedCodes {
 public:
  /// `data` has the bytes of a tensor with a Packing from `first_byte` on, and codes are numbered
  /// from the start of the tensor. Codes of other tensors are numbered from the start of `data`.
  PackedCodes(Element element, const Packing& packing, const Table& table,
              std::span<const std::byte> data, int64_t first_byte) noexcept
      : element_(element), packing_(packing), table_(table), data_(data), first_byte_(first_byte) {}

  /// Reads the codes at the indices i, i + stride, i + 2 * stride, ... and writes them to `out`,
  /// contiguous, as codes of unpacked(element). Up to Helpers::kUnpackSlack bytes after the last
  /// are overwritten too.
  void unpack(int64_t i, int64_t stride, int64_t count, uint8_t* out) const noexcept;

  /// unpack() of `count` codes each from the codes i, i + stride, ... on, one line of `out` after
  /// the other.
  void unpack_lines(int64_t i, int64_t stride, int64_t lines, int64_t count,
                    uint8_t* out) const noexcept;

  /// True if those lines, of `count` codes each, are pairs of unsigned codes in whole words:
  /// lines_of_rows() has their bytes.
  bool are_pairs(int64_t i, int64_t stride, int64_t count) const noexcept;

  // Of words that run down columns. A matrix is codes [k, k + count) of neighbouring rows.

  /// Codes of a matrix, with those that are unpacked before k, at most.
  static constexpr int64_t kMatrixCodes = 20 << 10;
  static constexpr int64_t kMatrixBytes =
      kMatrixCodes + static_cast<int64_t>(Helpers::kUnpackSlack);

  /// The most rows of a matrix with so many columns.
  int64_t most_rows(int64_t count) const noexcept;

  /// Reads a matrix whose first code is code i, and writes its rows to `out`, each one `count` +
  /// `lead` bytes, of which the first `lead` are other codes. Returns `lead`. Up to
  /// Helpers::kUnpackSlack bytes after the last are overwritten too. `words` is scratch memory of
  /// kMatrixBytes.
  int64_t unpack_matrix(int64_t i, int64_t rows, int64_t count, uint8_t* out,
                        uint8_t* words) const noexcept;

  /// Lines that are transposed at once.
  static constexpr int64_t kTransposed = 16;

  /// Memory that is read for some codes.
  struct Lines {
    const uint8_t* first = nullptr;
    int64_t stride = 0;  ///< bytes
    int64_t count = 0;
    int64_t bytes = 0;  ///< of each

    /// Part `i` of about `of` equal parts, and the `parts` - 1 after it.
    Lines part(int64_t i, int64_t parts, int64_t of) const noexcept {
      const int64_t begin = i * count / of;
      return {first + begin * stride, stride, (i + parts) * count / of - begin, bytes};
    }

    [[gnu::always_inline]] void fetch() const noexcept {
      for (int64_t k = 0; k < count; ++k) {
        const uint8_t* line = first + k * stride;
        const uint8_t* end = line + bytes;
        // The last bytes may lie in a cache line of their own.
        for (; line < end; line += kCacheLine) __builtin_prefetch(line);
        __builtin_prefetch(end - 1);
      }
    }
  };
  /// The bytes of those lines, each line to a column of `to`: byte b of line k to to[b * pitch +
  /// k]. Some lines at once, while the next are prefetched: far apart, many lines evict one another
  /// from the nearest cache.
  void transpose_bytes(const Lines& lines, uint8_t* to, int64_t pitch) const noexcept;

  /// Those of unpack_matrix().
  Lines lines_of_matrix(int64_t i, int64_t rows, int64_t count) const noexcept;
  /// Those of `rows` codes each from the codes i, i + stride, ... on.
  Lines lines_of_rows(int64_t i, int64_t rows, int64_t count, int64_t stride) const noexcept;

 private:
  bool unpack_streams(int64_t i, int64_t stride, int64_t lines, int64_t count,
                      uint8_t* out) const noexcept;
  void unpack_codes(int64_t i, int64_t stride, int64_t count, uint8_t* out) const noexcept;
  void unpack_each(int64_t i, int64_t stride, int64_t count, uint8_t* out) const noexcept;
  void unpack_across(int64_t i, int64_t count, uint8_t* out) const noexcept;
  void unpack_rows(int64_t i, int64_t count, uint8_t* out) const noexcept;
  void unpack_row(int64_t row, int64_t k, int64_t count, uint8_t* out) const noexcept;
  void unpack_units(int64_t row, int64_t k, int64_t count, uint8_t* out) const noexcept;
  void unpack_column(int64_t row, int64_t k, int64_t count, uint8_t* out) const noexcept;
  void unpack_slabs(int64_t i, int64_t count, uint8_t* out) const noexcept;
  bool lines_are_units(int64_t i, int64_t stride, int64_t count) const noexcept;
  int64_t byte_of(int64_t row, int64_t k) const noexcept;
  void call_unpacker(int64_t byte, int64_t count, uint8_t* out) const noexcept;
  UnpackFn unpacker() const noexcept;
  const uint8_t* at_byte(int64_t i) const noexcept {
    return reinterpret_cast<const uint8_t*>(data_.data()) + (i - first_byte_);
  }

  Element element_;
  const Packing& packing_;
  const Table& table_;
  std::span<const std::byte> data_;
  int64_t first_byte_;
};

}  // namespace dequant
