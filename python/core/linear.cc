// DequantizeLinear of ONNX, of com.microsoft and of WebNN.
#include "dequant/microsoft.h"
#include "dequant/onnx.h"
#include "dequant/webnn.h"
#include "python/core/call.h"

namespace dequant::python {
namespace nb = nanobind;
using namespace nb::literals;
namespace {

constexpr auto kFloat = Element::float32;

/// output_dtype as ONNX has it: a number of TensorProto.DataType; dtypes are understood too.
std::optional<int64_t> onnx_dtype(nb::handle dtype) {
  if (dtype.is_none()) return {};
  if (PyLong_Check(dtype.ptr())) return integer("output_dtype", dtype);
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
  // A default is no attribute: older versions of the operator have none of these.
  if (node.axis == 1) node.axis.reset();
  if (node.block_size == 0) node.block_size.reset();
  return run_plan(checked(onnx::dequantize_linear(node)),
                  {codes.bytes(), scales.bytes(), zeros.bytes(), {}}, codes.type().shape,
                  {out, threads, like});
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
                  {out, threads, like});
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
                  {out, threads, like});
}

}  // namespace

void add_linear(nb::module_& core) {
  const nb::object none = nb::none();
  core.def_submodule("onnx").def(
      "dequantize_linear", of_onnx, "x"_a, "scale"_a, "zero_point"_a.none() = none, nb::kw_only(),
      "axis"_a = 1, "block_size"_a = 0, "output_dtype"_a.none() = none, "opset"_a = 25,
      "out"_a.none() = none, "threads"_a.none() = none, "like"_a.none() = none);
  core.def_submodule("microsoft")
      .def("dequantize_linear", of_microsoft, "x"_a, "x_scale"_a, "x_zero_point"_a.none() = none,
           nb::kw_only(), "axis"_a.none() = none, "out"_a.none() = none, "threads"_a.none() = none,
           "like"_a.none() = none);
  core.def_submodule("webnn").def("dequantize_linear", of_webnn, "input"_a, "scale"_a,
                                  "zero_point"_a, nb::kw_only(), "out"_a.none() = none,
                                  "threads"_a.none() = none, "like"_a.none() = none);
}

}  // namespace dequant::python
