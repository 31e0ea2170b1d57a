// DirectML's two operators on strided arrays.
#include "dequant/directml.h"

#include <array>
#include <string>

#include "conformance/directml/node.h"
#include "python/core/call.h"

namespace dequant::python {
namespace nb = nanobind;
namespace dml = conformance::directml;
using namespace nb::literals;
namespace {

/// A tensor with strides. An array with a negative stride is copied. DirectML has at most 8
/// dimensions.
class Strided {
 public:
  Strided(const char* name, nb::handle object, const Element* numbers = nullptr)
      : tensor_(name, object, numbers, Layout::strided) {}

  const Tensor& tensor() const { return tensor_; }
  dml::NodeTensor node() const { return {tensor_.type(), tensor_.strides(), {}}; }

  /// The scale or zero point of x. A scalar is broadcast to all elements of x by strides of zero.
  dml::NodeTensor side_of(const dml::NodeTensor& x) const {
    static constexpr std::array<int64_t, 64> kZeros{};
    if (!tensor_.type().shape.empty()) return node();
    return {{tensor_.type().element, x.type.shape}, Shape(kZeros).first(x.type.shape.size()), {}};
  }

 private:
  Tensor tensor_;
};

DML_FEATURE_LEVEL level_of(nb::handle feature_level) {
  const std::string name = text("feature_level", feature_level);
  if (const auto level = dml::feature_level_from_name(name)) return *level;
  std::string known;
  for (const std::string& level : dml::feature_levels())
    known += (known.empty() ? "" : ", ") + level;
  throw nb::value_error(("feature_level: " + name + " is none of " + known).c_str());
}

nb::object compute(DML_OPERATOR_TYPE type, nb::handle input, nb::handle scale,
                   nb::handle zero_point, nb::handle feature_level, const Wanted& wanted) {
  const Strided x("input", input);
  const Element element = x.tensor().type().element;
  constexpr auto kFloat = Element::float32;
  const Strided scales("scale", scale, &kFloat);
  std::optional<Strided> zeros;
  if (!zero_point.is_none()) zeros.emplace("zero_point", zero_point, &element);

  dml::Node node{.type = type, .x = x.node(), .scale = scales.side_of(x.node()), .zero_point = {}};
  if (zeros) node.zero_point = zeros->side_of(x.node());
  if (type == DML_OPERATOR_DEQUANTIZE)
    node.quantization =
        zeros ? DML_QUANTIZATION_TYPE_SCALE_ZERO_POINT : DML_QUANTIZATION_TYPE_SCALE;
  const directml::Operator op = checked(dml::compile(node, level_of(feature_level)));
  return run_plan(op.plan,
                  {x.tensor().bytes(),
                   scales.tensor().bytes(),
                   zeros ? zeros->tensor().bytes() : std::span<const std::byte>(),
                   {}},
                  x.tensor().type().shape, wanted,
                  {&x.tensor(), &scales.tensor(), zeros ? &zeros->tensor() : nullptr});
}

template <DML_OPERATOR_TYPE kType>
nb::object operation(nb::handle input, nb::handle scale, nb::handle zero_point,
                     nb::handle feature_level, nb::handle out, nb::handle threads,
                     nb::handle like) {
  return compute(kType, input, scale, zero_point, feature_level, {out, threads, like});
}

constexpr const char* kElementWise =
    R"(DML_ELEMENT_WISE_DEQUANTIZE_LINEAR: output = (input - zero_point) * scale.

input          uint8; since 2_1 also int8 uint16 int16 uint32 int32; 1 to 8 dimensions, before 3_0
               exactly 4
scale          float32, since 6_0 also float16; a scalar, or a tensor of the shape of input
zero_point     a scalar, or a tensor of the shape of input; the dtype of input; since 6_2 None: 0
feature_level  feature level of the device: 1_0, 2_0, 2_1, ... 6_4

The result has the dtype of scale. Strided arrays, for example of transpose() or
numpy.broadcast_to(), are read without a copy; arrays with negative strides are copied.)";

constexpr const char* kDequantize =
    R"(DML_DEQUANTIZE: output = (input - zero_point) * scale, in blocks.

input          uint8 int8 uint4 int4; 1 to 8 dimensions
scale          float32 or float16; a scalar, or one scale for each block: as many dimensions as
               input, and each size divides the size of input (the quotient is the block length)
zero_point     the dtype of input, in blocks like scale; None: the midpoint of the unsigned codes
               (8 or 128), 0 for signed codes
feature_level  feature level of the device: 6_3 or 6_4

The result has the dtype of scale. Strided arrays, for example of transpose() or
numpy.broadcast_to(), are read without a copy; arrays with negative strides are copied.)";

}  // namespace

void add_directml(nb::module_& core) {
  const nb::object none = nb::none();
  nb::module_ m = core.def_submodule("directml");
  const auto add = [&](const char* name, auto function, const char* doc, const char* signature) {
    m.def(name, function, "input"_a.none(), "scale"_a.none(), "zero_point"_a.none() = none,
          nb::kw_only(), "feature_level"_a.none() = "6_4", "out"_a.none() = none,
          "threads"_a.none() = none, "like"_a.none() = none, documented(doc).c_str(),
          nb::sig(signature));
  };
#define DEQUANT_SIGNATURE(name)                                       \
  "def " name                                                         \
  "(input: Tensor, scale: Tensor | Floats, "                          \
  "zero_point: Tensor | Ints | None = None, *, feature_level: str = " \
  "'6_4', " DEQUANT_COMMON_SIGNATURE
  add("element_wise_dequantize_linear", operation<DML_OPERATOR_ELEMENT_WISE_DEQUANTIZE_LINEAR>,
      kElementWise, DEQUANT_SIGNATURE("element_wise_dequantize_linear"));
  add("dequantize", operation<DML_OPERATOR_DEQUANTIZE>, kDequantize,
      DEQUANT_SIGNATURE("dequantize"));
}

}  // namespace dequant::python
