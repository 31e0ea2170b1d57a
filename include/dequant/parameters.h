// What quantization tools store beside codes and one scale: more scales, zero points of other
// kinds, values in a table, and codes in layouts of their own. Plain data, part of a Plan.
#pragma once

#include <cstdint>
#include <optional>

#include "dequant/block.h"
#include "dequant/element.h"

namespace dequant {

/// How a second scale, one float32 for the whole tensor, changes every stored scale before it is
/// used. The result is rounded to float32.
enum class TensorScale : uint8_t {
  none,
  multiply,  ///< scale * tensor_scale, as in ModelOpt's NVFP4
  divide,    ///< scale / tensor_scale, as in the NVFP4 of compressed-tensors
};

/// The sum of a stored zero point and its offset, where the sum does not fit in the bits of a
/// stored zero point.
enum class ZeroPointOverflow : uint8_t {
  keep,  ///< the sum itself: of uint4, 15 + 1 is 16
  wrap,  ///< modulo 2^bits: 15 + 1 is 0
  /// One addition to each 32-bit word of zero points, so that the carry of one zero point is added
  /// to the next: 15 + 1 is 0, and the next zero point is 1 more. Only uint2, uint4 and uint8.
  carry,
};

/// What is done with a zero point.
enum class ZeroPointRole : uint8_t {
  subtract_before,  ///< (x - zero_point) * scale
  add_after,        ///< x * scale + zero_point, as in MLX. The zero point is a float
  subtract_after,   ///< x * scale - zero_point, as in quanto. The zero point is a float
};

/// Only in strided plans: the group of each element is read from an int32 tensor, whose entries
/// must be in [0, groups).
struct GroupIndex {
  int64_t groups = 0;      ///< 0: there is none
  int64_t scale = 0;       ///< stride from the scale of a group to that of the next; not negative
  int64_t zero_point = 0;  ///< the same for zero points

  friend bool operator==(const GroupIndex&, const GroupIndex&) = default;
};

/// Where the codes of a tensor lie, if not as an element packs them. A word has 32 bits and is
/// little-endian.
enum class CodeOrder : int32_t {
  of_element,  ///< as the element packs them: the tensor has no Packing
  high_first,  ///< 4 bits: code 2i in the high bits of byte i, code 2i + 1 in the low bits
  // In rows, each of which starts with a word.
  words,        ///< 32 / bits codes in each word, from the lowest bit on; further bits are ignored
  stream,       ///< one stream of bits over all words of a row, from the lowest bit on
  interleaved,  ///< 4 bits: codes 0, 2, 4, 6, 1, 3, 5, 7 of each eight in a word, as in AWQ
  /// 3, 5, 6 or 7 bits: each 32 codes fill `bits` words with streams of 4, then 2, then 1 bit of
  /// each code, as far as the sum needs them: of 5 bits the lowest four, then the highest one.
  planes,
  // Code i is in word i % columns. The word is a byte where `bits` divides 8.
  slabs,             ///< from the lowest bit on: codes i, i + columns, ... share a word
  slabs_high_first,  ///< the first of them in the highest of the bits that codes take
};

/// A layout of codes of 1 to 8 bits. The element of their tensor is uint8 or, for codes in two's
/// complement, int8. Strides count codes: code i is number i % row of row i / row.
struct Packing {
  CodeOrder order = CodeOrder::of_element;
  int32_t bits = 0;  ///< of a code
  int64_t row = 0;   ///< codes of a row; 0 for orders without rows. `planes`: a multiple of 32
  /// Of a row: 0 where its words follow one another; otherwise word j of row r is word j * columns
  /// + r, so that the words of a row run down a column of a stored matrix. Of slabs: the words of a
  /// slab.
  int64_t columns = 0;

  friend bool operator==(const Packing&, const Packing&) = default;
};

/// How the float32 scale, the zero point and the result of each element are computed from the
/// stored tensors, where that is more than decoding: docs/numerics.md has the arithmetic. Only for
/// Rule::subtract_then_scale.
struct Parameters {
  TensorScale tensor_scale = TensorScale::none;
  /// For scales of float8e8m0: code 255 is infinity, as in compressed-tensors, not NaN.
  bool infinite_e8m0 = false;
  /// The scale is 1 / scale, rounded to float32, before the tensor scale changes it: of producers
  /// whose layers divide by the stored scale.
  bool reciprocal_scale = false;
  /// The element of the stored zero points, where it differs from that of x: an integer of at most
  /// 8 bits for an integer x of at most 16; float32, float16 or bfloat16 for an integer x of at
  /// most 8.
  std::optional<Element> zero_point = {};
  /// Added to every stored zero point, which is an integer of at most 8 bits; -256 to 256.
  int32_t zero_point_offset = 0;
  ZeroPointOverflow zero_point_overflow = ZeroPointOverflow::keep;
  GroupIndex group_index = {};
  ZeroPointRole zero_point_role = ZeroPointRole::subtract_before;
  /// float16 or bfloat16: the scale, after the tensor scale, is rounded to this type.
  std::optional<Element> scale_rounding = {};
  /// float16 or bfloat16: every float32 result is rounded to this type before it is converted to
  /// the output. Only where x - zero_point is exact in the type: x and zero points of at most 8
  /// bits.
  std::optional<Element> result_rounding = {};
  /// Every product of x and its scale is multiplied by this finite number, and rounded to float32.
  float result_factor = 1;
  /// x has indices of a table, Buffers::codebook: the table's values are scaled. An unsigned x of 8
  /// bits at most, with zero points only after the product.
  bool codebook = false;
  Packing x_packing = {};           ///< with `columns` only in strided plans
  Packing zero_point_packing = {};  ///< zero points of 8 bits
  /// x is blocks of this type, which hold their scales: the input is uint8, there is no scale, and
  /// of the other parameters only TensorScale::multiply is allowed: a float32 for each of `outer`
  /// rows multiplies elements, rounded to float32. Rows of `axis` elements are whole blocks,
  /// plan.block is the elements of a block, and `inner` is 1.
  std::optional<BlockType> x_blocks = {};

  friend bool operator==(const Parameters&, const Parameters&) = default;
};

}  // namespace dequant
