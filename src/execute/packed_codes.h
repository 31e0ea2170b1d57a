// Reading the codes of x, and of zero points, whatever their layout, as a byte or more each.
#pragma once

#include <cstddef>
#include <cstdint>

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
  PackedCodes(Element element, const Packing& packing, const Helpers& helpers,
              const std::byte* data, int64_t first_byte) noexcept
      : element_(element),
        packing_(packing),
        helpers_(helpers),
        data_(data),
        first_byte_(first_byte) {}

  /// Reads the codes at the indices i, i + stride, i + 2 * stride, ... and writes them to `out`,
  /// contiguous, as codes of unpacked(element). Up to Helpers::kUnpackSlack bytes after the last
  /// are overwritten too.
  void unpack(int64_t i, int64_t stride, int64_t count, uint8_t* out) const noexcept;

 private:
  void unpack_codes(int64_t i, int64_t stride, int64_t count, uint8_t* out) const noexcept;
  void unpack_each(int64_t i, int64_t stride, int64_t count, uint8_t* out) const noexcept;
  void unpack_rows(int64_t i, int64_t count, uint8_t* out) const noexcept;
  void unpack_row(int64_t row, int64_t k, int64_t count, uint8_t* out) const noexcept;
  void unpack_units(int64_t row, int64_t k, int64_t count, uint8_t* out) const noexcept;
  void unpack_slabs(int64_t i, int64_t count, uint8_t* out) const noexcept;
  UnpackFn unpacker() const noexcept;
  const uint8_t* byte(int64_t i) const noexcept {
    return reinterpret_cast<const uint8_t*>(data_) + (i - first_byte_);
  }

  Element element_;
  const Packing& packing_;
  const Helpers& helpers_;
  const std::byte* data_;
  int64_t first_byte_;
};

}  // namespace dequant
