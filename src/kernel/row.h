// What a kernel is: a row function, its arguments, and the table that holds one for every
// (element, output, leaf). Nothing here knows an instruction set.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "dequant/element.h"

namespace dequant {

/// One stretch of elements. x starts on a byte and so does every run of it. `scale` and `zero` hold
/// one entry per run (Leaf::runs) or per element (Leaf::varying). Any alignment of x and y.
struct RowArgs {
  const uint8_t* x;
  uint8_t* y;
  size_t count;  ///< elements, at least 1
  size_t run;    ///< Leaf::runs: elements per scale; the last run may be short
  const float* scale;
  const int32_t* zero;  ///< integers: the zero point (of uint32: its bit pattern); floats: unused
  const float* lut;     ///< floats: the value of every code
  bool stream;          ///< store past the caches where alignment allows
};

using RowFn = void (*)(const RowArgs&);

enum class Leaf : uint8_t { runs, varying };

inline constexpr size_t kInputs = static_cast<size_t>(Element::float4e2m1) + 1;
inline constexpr size_t kOutputs = 3;
inline constexpr size_t kLeaves = 2;

/// Outputs in the order of the table.
inline constexpr std::array<Element, kOutputs> kOutputElements{Element::float32, Element::float16,
                                                               Element::bfloat16};

constexpr size_t output_index(Element output) {
  return output == Element::float32 ? 0 : output == Element::float16 ? 1 : 2;
}

struct Table {
  std::array<std::array<std::array<RowFn, kLeaves>, kOutputs>, kInputs> rows{};

  RowFn& at(Element x, Element y, Leaf leaf) {
    return rows[static_cast<size_t>(x)][output_index(y)][static_cast<size_t>(leaf)];
  }
  RowFn at(Element x, Element y, Leaf leaf) const {
    return rows[static_cast<size_t>(x)][output_index(y)][static_cast<size_t>(leaf)];
  }
};

}  // namespace dequant
