// TensorFlow's Dequantize: the checks of its kernel, in the kernel's order, and the rule of each
// mode.
#include "dequant/tensorflow.h"

#include <array>

#include "dialect/axis.h"
#include "text.h"

namespace dequant::tensorflow {
namespace {

using enum Element;

struct TypeName {
  Element element;
  std::string_view name;
};

constexpr std::array kTypes{
    TypeName{uint8, "quint8"}, TypeName{int8, "qint8"},   TypeName{uint16, "quint16"},
    TypeName{int16, "qint16"}, TypeName{int32, "qint32"},
};

constexpr std::array<std::string_view, 3> kModes{"MIN_COMBINED", "MIN_FIRST", "SCALED"};

/// The name for messages; the number may be no enumerator.
std::string name_of(Element element) {
  const auto number = static_cast<size_t>(element);
  if (number >= elements().size()) return concat("number ", number);
  return std::string(tensorflow::name(element));
}

bool is_quantized(Element element) {
  for (const TypeName& type : kTypes) {
    if (type.element == element) return true;
  }
  return false;
}

/// Checks enumerations, which may have any number.
Status check_enumerators(const Dequantize& node) {
  const auto number = [](auto e) { return static_cast<int>(e); };
  if (node.version > Version::r2) {
    return invalid("version: ", number(node.version), " is neither r1_4 (0) nor r2 (1)");
  }
  if (node.mode > Mode::scaled) {
    return invalid("mode: ", number(node.mode),
                   " is not MIN_COMBINED (0), MIN_FIRST (1) or SCALED (2)");
  }
  if (node.semantics > Semantics::documented) {
    return invalid("semantics: ", number(node.semantics),
                   " is neither kernel (0) nor documented (1)");
  }
  return {};
}

Status check_types(const Dequantize& node) {
  if (!is_quantized(node.input.element)) {
    return invalid("input: element type ", name_of(node.input.element),
                   " is not quint8, qint8, quint16, qint16 or qint32");
  }
  for (const auto& [what, range] :
       {std::pair{"min_range", &node.min_range}, std::pair{"max_range", &node.max_range}}) {
    if (range->element != float32) {
      return invalid(what, ": element type ", name_of(range->element), " is not float32");
    }
  }
  if (node.dtype != float32 && node.dtype != bfloat16) {
    return invalid("dtype: ", name_of(node.dtype), " is not float32 or bfloat16");
  }
  if (node.dtype == bfloat16 && node.mode != Mode::min_combined) {
    return invalid("dtype: bfloat16 needs mode MIN_COMBINED, not ", name(node.mode));
  }
  return {};
}

bool is_default(const Axis& axis) {
  if (const auto* raw = std::get_if<RawAxis>(&axis)) return raw->value == -1;
  return !std::get<PythonAxis>(axis).value.has_value();
}

/// Refuses attributes that r1.4 does not have, and documented semantics of later interfaces.
Status check_version(const Dequantize& node) {
  if (node.version == Version::r2) {
    if (node.semantics == Semantics::kernel) return {};
    return invalid("semantics: the documented ones are those of version 1.4, not of version 2");
  }
  const auto absent = [](std::string_view what) {
    return invalid(what, ": Dequantize has no such attribute in version 1.4");
  };
  if (!is_default(node.axis)) return absent("axis");
  if (node.narrow_range) return absent("narrow_range");
  if (node.dtype != float32) return absent("dtype");
  return {};
}

/// The dimension whose slices have their own ranges; none where all elements share one pair.
Result<std::optional<int64_t>> slice_axis(const Axis& axis, Shape input) {
  const auto rank = static_cast<int64_t>(input.size());
  int64_t value = -1;
  if (const auto* raw = std::get_if<RawAxis>(&axis)) {
    value = raw->value;
    if (value == -1) return std::optional<int64_t>{};
    if (value < -1) {
      return invalid("axis: ", value, " is less than -1, which means per tensor in the raw op");
    }
    if (value >= rank) {
      return invalid("axis: ", value, " is outside [-1, ", rank - 1, "] for input of rank ", rank);
    }
  } else {
    const std::optional<int64_t> python = std::get<PythonAxis>(axis).value;
    if (!python) return std::optional<int64_t>{};
    value = *python;
  }
  DEQUANT_TRY(const int64_t index, normalize_axis(value, rank, "input"));
  return std::optional<int64_t>{index};
}

/// The number of elements of a tensor. Fails where its bytes do not fit in int64.
Result<int64_t> counted(std::string_view what, Element element, Shape shape) {
  auto count = element_count(shape);
  if (!count) return invalid(what, ": ", count.error().message);
  if (auto bytes = packed_bytes(element, *count); !bytes) {
    return invalid(what, ": ", bytes.error().message);
  }
  return *count;
}

/// Checks that ranges have as many elements as slices; their shape does not matter. The kernel
/// counts them, too, but a shape other than [slices] aborts it where there is an axis.
Status check_range(std::string_view what, const TensorType& range, int64_t slices,
                   std::optional<int64_t> axis) {
  DEQUANT_TRY(const int64_t count, counted(what, float32, range.shape));
  if (count == slices) return {};
  return invalid(what, ": ", count, " elements of shape ", to_string(range.shape), " where ",
                 slices,
                 axis ? concat(" are needed, one for each slice of axis ", *axis)
                      : std::string(" is needed per tensor"));
}

Rule rule_of(const Dequantize& node) {
  const bool documented = node.semantics == Semantics::documented;
  switch (node.mode) {
    case Mode::min_combined: return documented ? Rule::documented_min_combined : Rule::min_combined;
    case Mode::min_first: return documented ? Rule::documented_min_first : Rule::min_first;
    case Mode::scaled: break;
  }
  if (documented) return Rule::documented_scaled;
  // Unsigned types have no narrow range: their lowest code is used.
  const bool narrow = node.narrow_range && kind(node.input.element) == Kind::signed_integer;
  return narrow ? Rule::scaled_narrow_range : Rule::scaled;
}

}  // namespace

std::optional<Element> element_from_name(std::string_view name) noexcept {
  for (const TypeName& type : kTypes) {
    if (type.name == name) return type.element;
  }
  return std::nullopt;
}

std::string_view name(Element element) noexcept {
  for (const TypeName& type : kTypes) {
    if (type.element == element) return type.name;
  }
  return dequant::name(element);
}

std::string_view name(Mode mode) noexcept {
  const auto number = static_cast<size_t>(mode);
  return number < kModes.size() ? kModes[number] : "unknown";
}

std::optional<Mode> mode_from_name(std::string_view name) noexcept {
  for (size_t i = 0; i < kModes.size(); ++i) {
    if (kModes[i] == name) return static_cast<Mode>(i);
  }
  return std::nullopt;
}

Result<Plan> dequantize(const Dequantize& node) {
  DEQUANT_CHECK(check_enumerators(node));
  DEQUANT_CHECK(check_types(node));
  DEQUANT_CHECK(check_version(node));
  const Shape input = node.input.shape;
  DEQUANT_TRY(const int64_t count, counted("input", node.input.element, input));
  DEQUANT_TRY([[maybe_unused]] const int64_t outputs, counted("output", node.dtype, input));
  DEQUANT_TRY(const std::optional<int64_t> axis, slice_axis(node.axis, input));
  const int64_t slices = axis ? input[static_cast<size_t>(*axis)] : 1;
  DEQUANT_CHECK(check_range("min_range", node.min_range, slices, axis));
  DEQUANT_CHECK(check_range("max_range", node.max_range, slices, axis));
  if (node.mode == Mode::min_first && slices != 1) {
    return Error{
        ErrorCode::unsupported,
        concat("mode: MIN_FIRST takes one pair of ranges, not the ", slices, " of axis ", *axis)};
  }

  Plan plan;
  plan.input = node.input.element;
  plan.output = node.dtype;
  plan.rule = rule_of(node);
  if (slices == 1) {
    plan.inner = count;
    return plan;
  }
  plan.granularity = Granularity::per_axis;
  view_at(plan, input, *axis);
  return plan;
}

}  // namespace dequant::tensorflow
