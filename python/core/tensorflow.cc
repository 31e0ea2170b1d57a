// tf.quantization.dequantize.
#include "dequant/tensorflow.h"

#include "python/core/call.h"
#include "python/core/numpy.h"

namespace dequant::python {
namespace nb = nanobind;
using namespace nb::literals;
namespace {

constexpr auto kFloat = Element::float32;

[[noreturn]] void refuse(const char* parameter, const std::string& value, const char* known) {
  throw nb::value_error((std::string(parameter) + ": " + value + " is none of " + known).c_str());
}

tensorflow::Mode mode_of(nb::handle mode) {
  const std::string name = text("mode", mode);
  if (const auto known = tensorflow::mode_from_name(name)) return *known;
  refuse("mode", name, "MIN_COMBINED, MIN_FIRST, SCALED");
}

tensorflow::Version version_of(nb::handle version) {
  const std::string name = text("version", version);
  if (name == "r2") return tensorflow::Version::r2;
  if (name == "r1.4") return tensorflow::Version::r1_4;
  refuse("version", name, "r2, r1.4");
}

tensorflow::Semantics semantics_of(nb::handle semantics) {
  const std::string name = text("semantics", semantics);
  if (name == "kernel") return tensorflow::Semantics::kernel;
  if (name == "documented") return tensorflow::Semantics::documented;
  refuse("semantics", name, "kernel, documented");
}

nb::object dequantize(nb::handle input, nb::handle min_range, nb::handle max_range, nb::handle mode,
                      nb::handle /*name*/, nb::handle axis, nb::handle narrow_range,
                      nb::handle dtype, nb::handle version, nb::handle semantics, nb::handle out,
                      nb::handle threads, nb::handle like) {
  const Tensor codes("input", input);
  const Tensor least("min_range", min_range, &kFloat);
  const Tensor greatest("max_range", max_range, &kFloat);
  const tensorflow::Dequantize node{.version = version_of(version),
                                    .input = codes.type(),
                                    .min_range = least.type(),
                                    .max_range = greatest.type(),
                                    .mode = mode_of(mode),
                                    .narrow_range = boolean("narrow_range", narrow_range),
                                    .axis = tensorflow::PythonAxis{optional_integer("axis", axis)},
                                    .dtype = dtype.is_none() ? kFloat : element_of("dtype", dtype),
                                    .semantics = semantics_of(semantics)};
  return run_plan(checked(tensorflow::dequantize(node)),
                  {codes.bytes(), {}, {}, {}, least.bytes(), greatest.bytes()}, codes.type().shape,
                  {out, threads, like}, {&codes, &least, &greatest});
}

constexpr const char* kDequantize =
    R"(tf.quantization.dequantize: converts codes of the range [min_range, max_range] to floats.

input         uint8 int8 uint16 int16 int32, of any shape
min_range     float32: one number, or one for each index on `axis`
max_range     as min_range
mode          MIN_COMBINED, MIN_FIRST or SCALED
name          ignored
axis          axis of input; negative numbers count from the last axis; None: one range
narrow_range  for SCALED: the lowest code is not part of the range
dtype         dtype of the result: float32 or bfloat16; None: float32
version       "r2", or "r1.4", which has no axis, narrow_range and dtype
semantics     "kernel": the bits of TensorFlow's CPU kernel; "documented": the formulas of the r1.4
              page)";

}  // namespace

void add_tensorflow(nb::module_& core) {
  const nb::object none = nb::none();
  core.def_submodule("tensorflow")
      .def("dequantize", dequantize, "input"_a.none(), "min_range"_a.none(), "max_range"_a.none(),
           "mode"_a.none() = "MIN_COMBINED", "name"_a.none() = none, "axis"_a.none() = none,
           "narrow_range"_a.none() = false, "dtype"_a.none() = none, nb::kw_only(),
           "version"_a.none() = "r2", "semantics"_a.none() = "kernel", "out"_a.none() = none,
           "threads"_a.none() = none, "like"_a.none() = none, documented(kDequantize).c_str(),
           nb::sig(
               "def dequantize(input: Tensor, min_range: Tensor | Floats, "
               "max_range: Tensor | Floats, "
               "mode: Literal['MIN_COMBINED', 'MIN_FIRST', 'SCALED'] = 'MIN_COMBINED', "
               "name: object = None, axis: int | None = None, narrow_range: bool = False, "
               "dtype: DType | None = None, *, version: Literal['r2', 'r1.4'] = 'r2', "
               "semantics: Literal['kernel', 'documented'] = 'kernel', " DEQUANT_COMMON_SIGNATURE));
}

}  // namespace dequant::python
