// QuantizeLinear of constants: reading its node, and its arithmetic.
#include "format/onnx/quantization.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "dequant/microsoft.h"
#include "dequant/onnx.h"
#include "format/io/errors.h"
#include "format/io/numbers.h"
#include "format/model/ranges.h"
#include "format/profile/group_runs.h"

namespace dequant::format::onnx {
namespace {

/// The attributes of a QuantizeLinear, and the first opset of each.
struct Attributes {
  std::optional<int64_t> axis;
  std::optional<int64_t> block_size;
  std::optional<int64_t> output_dtype;
  int64_t saturate = 1;
  int64_t precision = 0;
};

Result<Attributes> attributes_of(const Node& node, int64_t opset) {
  Attributes a;
  const auto set = [&](const std::string& name, int64_t value) -> Status {
    int since = 13;
    if (name == "axis") {
      a.axis = value;
    } else if (name == "saturate") {
      since = 19;
      a.saturate = value;
    } else if (name == "block_size") {
      since = 21;
      a.block_size = value;
    } else if (name == "output_dtype") {
      since = 21;
      a.output_dtype = value;
    } else if (name == "precision") {
      since = 23;
      a.precision = value;
    } else {
      return failure(ErrorCode::invalid_argument, "{}: QuantizeLinear has no such attribute", name);
    }
    if (opset >= since) return {};
    return failure(ErrorCode::invalid_argument, "{}: QuantizeLinear has it since opset {}", name,
                   since);
  };
  DEQUANT_CHECK(for_each_int_attribute(node, set));
  return a;
}

/// The type of the output: of the zero point, or else of the attribute, or else uint8.
Result<Element> quantized_type(const Attributes& a, const std::optional<TensorType>& zero_point) {
  const int64_t code = a.output_dtype.value_or(0);
  const auto named = code == 0 ? Element::uint8 : element_from_onnx(code);
  if (!named || (code != 0 && zero_point && zero_point->element != *named)) {
    return failure(ErrorCode::invalid_argument, "output_dtype: {} is not the type of y_zero_point",
                   code);
  }
  return zero_point ? zero_point->element : *named;
}

/// The type of the attribute, or else of the scale, where that is not float32.
Result<std::optional<Element>> precision_of(const Attributes& a, Element scale) {
  if (a.precision == 0) {
    const bool narrow = scale == Element::float16 || scale == Element::bfloat16;
    return narrow ? std::optional(scale) : std::nullopt;
  }
  const auto precision = element_from_onnx(a.precision);
  if (!precision || !is_output(*precision)) {
    return failure(ErrorCode::unsupported, "precision: {} is not float32, float16 or bfloat16",
                   a.precision);
  }
  return *precision == Element::float32 ? std::nullopt : std::optional(*precision);
}

/// Adding and then subtracting this rounds a float of at most 2^22 to an integer, ties to even.
constexpr float kToInteger = 12582912.0F;
/// Every larger quotient saturates with every zero point.
constexpr float kBeyond = 262144.0F;

float load_float(Element element, std::span<const std::byte> bytes, int64_t index) {
  if (element == Element::float32) {
    float value = 0;
    std::memcpy(&value, bytes.data() + index * 4, sizeof value);
    return value;
  }
  return static_cast<float>(value_of(element, load_code(element, bytes, index)));
}

/// A number rounded to a 16-bit float type, as a float.
float narrowed(Element element, float value) {
  if (std::isnan(value) || std::isinf(value)) return value;
  const int mantissa = element == Element::float16 ? 10 : 7;
  const double least = element == Element::float16 ? 0x1p-14 : 0x1p-126;
  const auto leading = std::bit_cast<float>(std::bit_cast<uint32_t>(value) & 0x7F800000U);
  // The ULP of a double of this magnitude is the step of the type.
  const double shift = std::max(double{leading}, least) * std::ldexp(1.5, 52 - mantissa);
  const double rounded = double{value} + shift - shift;
  const double beyond = element == Element::float16 ? 0x1p16 : 0x1p128;
  if (std::abs(rounded) >= beyond) return std::copysign(INFINITY, value);
  return static_cast<float>(std::copysign(rounded, double{value}));
}

/// The quotient as an implementation has it that divides in a 16-bit float type.
float quotient_in(Element element, float value, float scale) {
  return narrowed(element, narrowed(element, value) / narrowed(element, scale));
}

}  // namespace

Result<QuantizeNode> plan_quantize(const Graph& graph, const Node& node, const TensorType& x,
                                   const TensorType& scale,
                                   const std::optional<TensorType>& zero_point) {
  const bool contributed = node.domain() == "com.microsoft";
  if (!contributed && !graph.opsets.onnx) {
    return failure(ErrorCode::invalid_argument, "the model imports no ai.onnx operator set");
  }
  const int64_t opset = contributed ? 13 : *graph.opsets.onnx;
  DEQUANT_TRY(const Attributes a, attributes_of(node, opset));
  DEQUANT_TRY(const Element element, quantized_type(a, zero_point));
  if (bits(element) > 16 || !is_input(element)) {
    return failure(ErrorCode::invalid_argument, "y_zero_point: {} is not a type to quantize to",
                   name(element));
  }
  if (!is_output(x.element)) {
    return failure(ErrorCode::unsupported, "x: {} is not float32, float16 or bfloat16",
                   name(x.element));
  }
  if (opset < 23 && x.element != scale.element) {
    return failure(ErrorCode::invalid_argument, "y_scale: {}, where x is {}", name(scale.element),
                   name(x.element));
  }
  QuantizeNode out;
  const TensorType quantized{element, x.shape};
  if (contributed) {
    DEQUANT_TRY(out.plan,
                ::dequant::microsoft::dequantize_linear(
                    {graph.opsets.microsoft.value_or(1), quantized, scale, zero_point, a.axis}));
  } else {
    std::optional<int64_t> output;
    if (opset >= 23) output = onnx_code(x.element);
    DEQUANT_TRY(out.plan, ::dequant::onnx::dequantize_linear(
                              {opset, quantized, scale, zero_point, a.axis, a.block_size, output}));
  }
  if (out.plan.granularity != Granularity::per_tensor) {
    out.axis = a.axis.value_or(1);
    if (*out.axis < 0) *out.axis += static_cast<int64_t>(x.shape.size());
  }
  out.saturate = a.saturate != 0;
  DEQUANT_TRY(const auto precision, precision_of(a, scale.element));
  // Since version 23 the specification has a precision; of an x of another type than the scale the
  // reference evaluator divides in the wider one.
  const bool agreed = opset >= 23 && (a.precision != 0 || x.element == scale.element);
  (agreed ? out.division : out.doubtful_division) = precision;
  return out;
}

Rounder::Rounder(Element element) : integer_(kind(element) != Kind::floating) {
  const uint32_t all = UINT32_MAX >> (32 - bits(element));
  mask_ = all;
  if (integer_) {
    const bool is_signed = kind(element) == Kind::signed_integer;
    lowest_ = is_signed ? -static_cast<float>(all / 2 + 1) : 0.0F;
    largest_ = is_signed ? all / 2 : all;
    return;
  }
  sign_ = all / 2 + 1;
  for (uint32_t code = 0; code < sign_ && std::isfinite(value_of(element, code)); ++code) {
    values_.push_back(value_of(element, code));
  }
  largest_ = values_.back();
  negative_zero_ = value_of(element, sign_) == 0;
  for (uint32_t code = 0; code <= all; ++code) {
    if (std::isnan(value_of(element, code))) nan_ = code;
  }
}

uint32_t Rounder::integer(float quotient, float zero_point) const {
  const float near = quotient > -kBeyond ? std::min(quotient, kBeyond) : -kBeyond;
  const float rounded = near + kToInteger - kToInteger + zero_point;
  const float code = std::min(std::max(rounded, lowest_), static_cast<float>(largest_));
  return static_cast<uint32_t>(static_cast<int32_t>(code)) & mask_;
}

uint32_t Rounder::floating(float number) const {
  if (std::isnan(number)) return nan_;
  const double size = std::abs(double{number});
  uint32_t code = 0;
  if (size >= largest_) {
    code = static_cast<uint32_t>(values_.size() - 1);
  } else {
    const auto above = std::upper_bound(values_.begin(), values_.end(), size);
    code = static_cast<uint32_t>(above - values_.begin() - 1);
    const double middle = (values_[code] + *above) / 2;  // exact, as both have few significant bits
    if (size > middle || (size == middle && code % 2 == 1)) ++code;
  }
  const bool negative = std::signbit(number) && (code != 0 || negative_zero_);
  return negative ? code | sign_ : code;
}

/// Calls visit(index, x, scale, zero point) for each element of the range.
template <class Visit>
void Quantizer::visit(Range elements, std::span<const std::byte> x,
                      std::span<const std::byte> scale, std::span<const std::byte> zero_point,
                      Visit&& visit) const {
  // The zero point of a float is zero. To float8 nothing is added, and -0 changes no number.
  const bool is_float8 = kind(plan_.input) == Kind::floating && bits(plan_.input) == 8;
  const bool has_zero = !zero_point.empty() && !is_float8;
  const int64_t first = groups_of(plan_, elements).begin;
  for_each_group_run(plan_, elements, [&](int64_t at, int64_t count, int64_t group, int64_t step) {
    float s = 0;
    float zero = -0.0F;
    const auto load = [&](int64_t index) {
      s = load_float(plan_.scale, scale, index);
      if (!has_zero) return;
      zero = static_cast<float>(value_of(plan_.input, load_code(plan_.input, zero_point, index)));
    };
    load(group - first);
    for (int64_t k = 0; k < count; ++k) {
      if (step != 0 && k != 0) load(group - first + k * step);
      visit(at + k, load_float(plan_.output, x, at + k), s, zero);
    }
  });
}

float Quantizer::quotient(float value, float scale) const {
  return division_ ? quotient_in(*division_, value, scale) : value / scale;
}

void Quantizer::run(Range elements, std::span<const std::byte> x, std::span<const std::byte> scale,
                    std::span<const std::byte> zero_point, std::span<std::byte> codes) const {
  visit(elements, x, scale, zero_point, [&](int64_t i, float value, float s, float zero) {
    store_code(plan_.input, codes, i, round_(quotient(value, s), zero));
  });
}

std::string Quantizer::doubt(const QuantizeNode& node, Range elements, std::span<const std::byte> x,
                             std::span<const std::byte> scale,
                             std::span<const std::byte> zero_point) const {
  const bool has_nan = kind(plan_.input) == Kind::floating && bits(plan_.input) == 8;
  bool nan = false;
  bool outside = false;
  bool differ = false;
  visit(elements, x, scale, zero_point, [&](int64_t, float value, float s, float zero) {
    const float number = quotient(value, s);
    nan = nan || std::isnan(number);
    outside = outside || std::abs(double{number}) > round_.largest();
    if (!node.doubtful_division) return;
    const float narrow = quotient_in(*node.doubtful_division, value, s);
    differ = differ || round_(number, zero) != round_(narrow, zero);
  });
  if (nan && !has_nan)
    return fmt::format("x / y_scale is NaN, which {} has not", name(plan_.input));
  if (outside && !node.saturate && has_nan) {
    return "saturate is 0 and x / y_scale is out of range, where implementations differ";
  }
  if (!differ) return {};
  return fmt::format(
      "x / y_scale gives other codes in {} than in float32, and implementations differ in that",
      name(*node.doubtful_division));
}

}  // namespace dequant::format::onnx
