// DequantizeLinear of ONNX, of com.microsoft and of WebNN.
#include "dequant/microsoft.h"
#include "dequant/onnx.h"
#include "dequant/webnn.h"
#include "python/core/call.h"
#include "python/core/numpy.h"

namespace dequant::python {
namespace nb = nanobind;
using namespace nb::literals;
namespace {

constexpr auto kFloat = Element::float32;

/// The output_dtype attribute: a number of TensorProto.DataType. The argument may also be a dtype.
std::optional<int64_t> onnx_dtype(nb::handle dtype) {
  if (dtype.is_none()) return {};
  if (PyIndex_Check(dtype.ptr()) != 0) return integer("output_dtype", dtype);
  return onnx_code(element_of("output_dtype", dtype));
}

nb::object of_onnx(nb::handle x, nb::handle scale, nb::handle zero_point, nb::handle axis,
                   nb::handle block_size, nb::handle output_dtype, nb::handle opset, nb::handle out,
                   nb::handle threads, nb::handle like) {
  const Tensor codes("x", x);
  const Tensor scales("scale", scale, &kFloat);
  const OptionalTensor zeros("zero_point", zero_point, codes.type().element);
  onnx::DequantizeLinear node{.opset = integer("opset", opset),
                              .x = codes.type(),
                              .x_scale = scales.type(),
                              .x_zero_point = zeros.type(),
                              .axis = integer("axis", axis),
                              .block_size = integer("block_size", block_size),
                              .output_dtype = onnx_dtype(output_dtype)};
  // A default value is no attribute: older versions of the operator do not have the attributes.
  if (node.axis == 1) node.axis.reset();
  if (node.block_size == 0) node.block_size.reset();
  return run_plan(checked(onnx::dequantize_linear(node)),
                  {codes.bytes(), scales.bytes(), zeros.bytes(), {}}, codes.type().shape,
                  {out, threads, like}, {&codes, &scales, zeros.get()});
}

nb::object of_microsoft(nb::handle x, nb::handle x_scale, nb::handle x_zero_point, nb::handle axis,
                        nb::handle out, nb::handle threads, nb::handle like) {
  const Tensor codes("x", x);
  const Tensor scales("x_scale", x_scale, &kFloat);
  const OptionalTensor zeros("x_zero_point", x_zero_point, codes.type().element);
  const microsoft::DequantizeLinear node{.x = codes.type(),
                                         .x_scale = scales.type(),
                                         .x_zero_point = zeros.type(),
                                         .axis = optional_integer("axis", axis)};
  return run_plan(checked(microsoft::dequantize_linear(node)),
                  {codes.bytes(), scales.bytes(), zeros.bytes(), {}}, codes.type().shape,
                  {out, threads, like}, {&codes, &scales, zeros.get()});
}

nb::object of_webnn(nb::handle input, nb::handle scale, nb::handle zero_point, nb::handle out,
                    nb::handle threads, nb::handle like) {
  const Tensor codes("input", input);
  const Tensor scales("scale", scale, &kFloat);
  const Element element = codes.type().element;
  const Tensor zeros("zero_point", zero_point, &element);
  const webnn::DequantizeLinear node{codes.type(), scales.type(), zeros.type()};
  return run_plan(checked(webnn::dequantize_linear(node)),
                  {codes.bytes(), scales.bytes(), zeros.bytes(), {}}, codes.type().shape,
                  {out, threads, like}, {&codes, &scales, &zeros});
}

constexpr const char* kOnnx = R"(ONNX's DequantizeLinear: y = (x - zero_point) * scale.

The arguments are checked by the newest version of the operator that is not above `opset` (ai.onnx
versions 10, 13, 19, 21, 23, 24, 25 and 28).

x             codes, of any shape
scale         one scale, a vector with one scale for each index on `axis`, or one for each block
zero_point    the dtype of x and the shape of scale; None: 0
axis          axis of x; negative numbers count from the last axis; ignored for one scale
block_size    number of elements on the axis that share a scale; 0: not blocked
output_dtype  float32, float16, bfloat16, or a number of TensorProto.DataType; None: as scale
opset         opset version of the model, 10 to 28)";

constexpr const char* kMicrosoft =
    R"(com.microsoft's DequantizeLinear: y = (x - x_zero_point) * x_scale.

x             codes, of any shape
x_scale       one scale, or a vector with one scale for each index on `axis`
x_zero_point  the dtype of x and the shape of x_scale; None: 0
axis          axis of x; negative numbers count from the last axis; None: 1

The result has the dtype of x_scale.)";

constexpr const char* kWebnn = R"(WebNN's dequantizeLinear: output = (input - zero_point) * scale.

input       int8 uint8 int32 uint32 int4 uint4; up to 8 dimensions
scale       float32 or float16; one scale for each block: as many dimensions as input, and each
            size divides the size of input (the quotient is the block length)
zero_point  the dtype of input and the shape of scale

The result has the dtype of scale.)";

}  // namespace

void add_linear(nb::module_& core) {
  const nb::object none = nb::none();
  core.def_submodule("onnx").def(
      "dequantize_linear", of_onnx, "x"_a.none(), "scale"_a.none(), "zero_point"_a.none() = none,
      nb::kw_only(), "axis"_a.none() = 1, "block_size"_a.none() = 0, "output_dtype"_a.none() = none,
      "opset"_a.none() = onnx::kNewestOpset, "out"_a.none() = none, "threads"_a.none() = none,
      "like"_a.none() = none, documented(kOnnx).c_str(),
      nb::sig(
          "def dequantize_linear(x: Tensor, scale: Tensor | Floats, "
          "zero_point: Tensor | Ints | None = None, *, axis: int = 1, block_size: int = 0, "
          "output_dtype: DType | int | None = None, opset: int = 28, " DEQUANT_COMMON_SIGNATURE));
  static_assert(onnx::kNewestOpset == 28 && onnx::kVersionOpsets.size() == 8,
                "the signature and the text above say so");
  core.def_submodule("microsoft")
      .def("dequantize_linear", of_microsoft, "x"_a.none(), "x_scale"_a.none(),
           "x_zero_point"_a.none() = none, nb::kw_only(), "axis"_a.none() = none,
           "out"_a.none() = none, "threads"_a.none() = none, "like"_a.none() = none,
           documented(kMicrosoft).c_str(),
           nb::sig("def dequantize_linear(x: Tensor, x_scale: Tensor | Floats, "
                   "x_zero_point: Tensor | Ints | None = None, *, axis: int | None = "
                   "None, " DEQUANT_COMMON_SIGNATURE));
  core.def_submodule("webnn").def(
      "dequantize_linear", of_webnn, "input"_a.none(), "scale"_a.none(), "zero_point"_a.none(),
      nb::kw_only(), "out"_a.none() = none, "threads"_a.none() = none, "like"_a.none() = none,
      documented(kWebnn).c_str(),
      nb::sig("def dequantize_linear(input: Tensor, "
              "scale: Tensor | Floats, zero_point: Tensor | Ints, *, " DEQUANT_COMMON_SIGNATURE));
}

}  // namespace dequant::python
