// The TensorFlow dialect: the operator Dequantize, by the interface of TensorFlow 1.4 and by that
// of TensorFlow 2. Its inputs are codes and the range that they cover, a min_range and a max_range,
// in place of a scale and a zero point.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "dequant/plan.h"
#include "dequant/tensor.h"

namespace dequant::tensorflow {

/// The element that a quantized type of TensorFlow stores: uint8 for "quint8", and likewise for
/// "qint8", "quint16", "qint16" and "qint32". Nothing for any other text.
DEQUANT_EXPORT std::optional<Element> element_from_name(std::string_view name) noexcept;

/// The name of the quantized type of TensorFlow that stores an element: "qint8" for int8. For an
/// element that no quantized type stores: dequant::name(element). Valid until the process ends.
DEQUANT_EXPORT std::string_view name(Element element) noexcept;

/// The interface that a node was written for.
enum class Version : uint8_t {
  r1_4,  ///< TensorFlow 1.4: input, min_range, max_range and mode
  r2,    ///< TensorFlow 2: also axis and narrow_range (from 2.1) and dtype (from 2.3)
};

/// The attribute mode: by which formula a code becomes a float. docs/numerics.md has the formulas.
enum class Mode : uint8_t { min_combined, min_first, scaled };

/// The mode as the attribute spells it: "MIN_COMBINED", "MIN_FIRST" or "SCALED"; "unknown" for a
/// value outside of the enumeration. Valid until the process ends.
DEQUANT_EXPORT std::string_view name(Mode mode) noexcept;
/// The mode that the attribute's text names; nothing for any other text.
DEQUANT_EXPORT std::optional<Mode> mode_from_name(std::string_view name) noexcept;

/// Which results are wanted: TensorFlow's kernel and its documentation differ in rounding and in
/// overflow. docs/numerics.md has both.
enum class Semantics : uint8_t {
  kernel,      ///< the bits of TensorFlow's CPU kernel on x86; saturated where it is undefined
  documented,  ///< the formulas of the 1.4 documentation in double, rounded once; only for r1_4
};

/// The attribute axis of the operator (tf.raw_ops.Dequantize). -1 means one range for the whole
/// tensor; less than -1 is refused.
struct RawAxis {
  int64_t value = -1;
};

/// The argument axis of the Python function tf.quantization.dequantize. None means one range for
/// the whole tensor; a negative axis counts from the back, so -1 is the last dimension. An axis
/// below -rank is refused here; TensorFlow's Python code takes it modulo the rank.
struct PythonAxis {
  std::optional<int64_t> value;
};

/// An axis in one of its two meanings. They are two types because -1 means the whole tensor in the
/// one and the last dimension in the other.
using Axis = std::variant<RawAxis, PythonAxis>;

/// One node, by the names of the operator. Shapes are borrowed: they must live until dequantize()
/// returns.
struct Dequantize {
  Version version = Version::r2;
  TensorType input;      ///< uint8, int8, uint16, int16 or int32
  TensorType min_range;  ///< float32, of any rank: one element, or one for each index on the axis
  TensorType max_range;  ///< type and number of elements of min_range
  Mode mode = Mode::min_combined;
  bool narrow_range = false;         ///< of Mode::scaled: the lowest code of the type is not used
  Axis axis = RawAxis{};             ///< of input; one range for each of its indices
  Element dtype = Element::float32;  ///< of the output: float32 or bfloat16
  Semantics semantics = Semantics::kernel;
};

/// Checks the node as TensorFlow's kernel and shape function do, and returns its plan. The output
/// has the shape of input. run() takes min_range and max_range in Buffers, and neither scale nor
/// zero_point. Fails with invalid_argument if the node breaks a rule: the message names the input
/// or attribute, the rule and the value. Fails with unsupported for MIN_FIRST with more than one
/// range, which TensorFlow does not implement either.
DEQUANT_EXPORT Result<Plan> dequantize(const Dequantize& node);

}  // namespace dequant::tensorflow
