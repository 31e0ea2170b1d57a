// A plan as kernels take it: by value, with pointers to device memory, and with all that would
// need a table or a division computed before the launch.
#pragma once

#include <cstdint>

#include "cuda/plan/divisor.h"
#include "dequant/parameters.h"
#include "dequant/plan.h"
#include "element/arithmetic.h"
#include "plan/ranges.h"

namespace dequant::cuda {

/// Codes of an element, or of a Packing.
struct Codes {
  const uint8_t* data = nullptr;  ///< code 0, which a range may not have
  FloatFormat format = {};        ///< of a float
  CodeOrder order = CodeOrder::of_element;
  int32_t bits = 0;
  uint32_t sign = 0;  ///< the sign bit of integers in two's complement, else 0
  // Of a Packing with rows.
  Divisor by_row = {};
  int64_t row = 0;
  int64_t row_step = 0;   ///< from the first word of a row to that of the next, in words
  int64_t word_step = 0;  ///< from a word of a row to the next, in words
  // Of slabs, and of `words`.
  int32_t in_word = 0;  ///< codes of a word
  Divisor by_word = {};
  Divisor by_columns = {};
  int64_t columns = 0;
  int32_t word_bytes = 0;
};

/// A Dimension whose size and block are divisors as well.
struct DeviceDimension {
  int64_t size = 1;
  Divisor by_size = {};
  int64_t block = 1;
  Divisor by_block = {};
  int64_t x = 0;
  int64_t scale = 0;
  int64_t zero_point = 0;
  int64_t y = 0;
  int64_t group_index = 0;
};

/// How x becomes the float32 that its scale multiplies.
enum class Difference : uint8_t {
  integer,       ///< fl32(x - zero_point), codes and zero points of at most 16 bits
  wide_integer,  ///< fl32(x - zero_point), codes and zero points of 32 bits
  float_zero,    ///< an integer less a float zero point, rounded to the zero point's type
  floating,      ///< the value of a code; its zero point is zero
  codebook,      ///< a value of the table
  shifted,       ///< rules of ranges
  formula,       ///< documented rules of ranges
};

/// Positions in each tensor, in elements.
struct Positions {
  int64_t x = 0;
  int64_t scale = 0;
  int64_t zero_point = 0;
  int64_t y = 0;
  int64_t group_index = 0;
};

/// The tensors and the arithmetic of a plan.
struct Computation {
  Range elements = {};  ///< of the plan, in the order of its dimensions
  int64_t threads = 0;
  Codes x = {};
  Codes scale = {};  ///< also min_range
  Codes max_range = {};
  Codes zero_point = {};
  // float32, int32 and float32, at any alignment.
  const uint8_t* tensor_scale = nullptr;  ///< of blocks: that of row 0
  const uint8_t* group_index = nullptr;
  const uint8_t* codebook = nullptr;
  uint8_t* y = nullptr;  ///< of blocks: element 0, which a range may not have
  uint32_t* faults = nullptr;

  Rule rule = Rule::subtract_then_scale;
  CodeLimits limits = {};  ///< of the codes of x, for rules of ranges
  int32_t shift = 0;       ///< shift_of() these
  Difference difference = Difference::integer;
  Element output = Element::float32;

  TensorScale tensor_scale_use = TensorScale::none;
  bool infinite_e8m0 = false;
  bool inverts_scale = false;
  bool rounds_scale = false;
  FloatFormat scale_rounding = {};

  bool loads_zero_point = false;   ///< else it is implicit_zero_point
  bool checks_zero_point = false;  ///< of a floating x: Fault::zero_point
  int32_t implicit_zero_point = 0;
  int32_t zero_point_offset = 0;
  ZeroPointOverflow zero_point_overflow = ZeroPointOverflow::keep;

  bool has_after = false;  ///< after_product() changes some products
  bool adds_zero_point = false;
  bool subtracts_zero_point = false;
  float result_factor = 1;
  FloatFormat result_rounding = {};

  GroupIndex groups = {};

  // Of blocks.
  bool has_blocks = false;
  BlockType block_type = BlockType::Q4_0;
  int64_t row_elements = 1;  ///< of a row with one tensor scale
  Divisor by_block_row = {};
};

struct DevicePlan : Computation {
  // Which elements a thread takes: see thread.h.
  bool tiles = false;
  Divisor by_tiles_of_row = {};
  int64_t tiles_of_row = 0;
  int64_t first_row = 0;

  int32_t rank = 0;
  Positions origin = {};
  DeviceDimension dimensions[kMaxDimensions] = {};
};

// Parameters of a kernel have 4096 bytes at most on every device.
static_assert(sizeof(DevicePlan) <= 4096);

}  // namespace dequant::cuda
