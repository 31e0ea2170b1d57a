// DirectML's two operators, with the strides that arrays have.
#include "dequant/directml.h"

#include <algorithm>
#include <array>
#include <string>

#include "format/directml/node.h"
#include "python/core/call.h"

namespace dequant::python {
namespace nb = nanobind;
namespace dml = format::directml;
using namespace nb::literals;
namespace {

/// A tensor whose dimensions may have any strides but negative ones, which are copied. DirectML has at
/// most 8 dimensions.
class Strided {
 public:
  Strided(const char* name, nb::handle object, const Element* numbers = nullptr)
      : tensor_(name, object, numbers, Layout::strided) {}

  const Tensor& tensor() const { return tensor_; }
  dml::NodeTensor node() const { return {tensor_.type(), tensor_.strides(), {}}; }

  /// A scalar serves all elements of x, by strides of zero.
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
                  x.tensor().type().shape, wanted);
}

template <DML_OPERATOR_TYPE kType>
nb::object operation(nb::handle input, nb::handle scale, nb::handle zero_point,
                     nb::handle feature_level, nb::handle out, nb::handle threads,
                     nb::handle like) {
  return compute(kType, input, scale, zero_point, feature_level, {out, threads, like});
}

}  // namespace

void add_directml(nb::module_& core) {
  const nb::object none = nb::none();
  nb::module_ m = core.def_submodule("directml");
  const auto add = [&](const char* name, auto function) {
    m.def(name, function, "input"_a, "scale"_a, "zero_point"_a.none() = none, nb::kw_only(),
          "feature_level"_a = "6_4", "out"_a.none() = none, "threads"_a.none() = none,
          "like"_a.none() = none);
  };
  add("element_wise_dequantize_linear", operation<DML_OPERATOR_ELEMENT_WISE_DEQUANTIZE_LINEAR>);
  add("dequantize", operation<DML_OPERATOR_DEQUANTIZE>);
}

}  // namespace dequant::python
