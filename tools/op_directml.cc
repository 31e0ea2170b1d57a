// `dequant op directml`: DirectML's two operators, on packed tensors or with a description in JSON.
#include "conformance/directml/description.h"
#include "conformance/directml/node.h"
#include "format/io/errors.h"
#include "format/io/output.h"
#include "tools/commands.h"
#include "tools/files.h"
#include "tools/memory.h"
#include "tools/op_inputs.h"

namespace dequant::tools {
namespace {

namespace dml = conformance::directml;
using format::escaped;
using format::failure;

struct DirectmlArguments : OpInputOptions {
  std::string feature_level = "6_4";
  std::string operator_name;
  std::string quantization;
  std::string desc;
};

// The parser of the command line has checked the names.

DML_FEATURE_LEVEL level_of(const DirectmlArguments& o) {
  return dml::feature_level_from_name(o.feature_level).value_or(DML_FEATURE_LEVEL_1_0);
}

Result<dml::Node> node_of(const DirectmlArguments& o) {
  dml::Node node;
  node.type = dml::operator_from_name(o.operator_name).value_or(DML_OPERATOR_INVALID);
  const auto quantization = dml::quantization_from_name(o.quantization);
  const bool dequantize = node.type == DML_OPERATOR_DEQUANTIZE;
  if (dequantize != quantization.has_value()) {
    return failure(ErrorCode::invalid_argument, "--quantization-type: {} {}", o.operator_name,
                   dequantize ? "needs one" : "has none");
  }
  node.quantization = quantization.value_or(DML_QUANTIZATION_TYPE_NONE);
  return node;
}

/// Runs an operator on packed tensors with the types and shapes of the files.
Status run_packed(DirectmlArguments& o) {
  DEQUANT_TRY(dml::Node node, node_of(o));
  DEQUANT_TRY(OpInputs inputs, open_inputs(o));
  node.x.type = inputs.x.type();
  node.scale.type = inputs.scale.type();
  if (inputs.zero_point) node.zero_point = dml::NodeTensor{inputs.zero_point->type(), {}, {}};
  auto compiled = dml::compile(node, level_of(o));
  if (!compiled) return format::in("directml", std::move(compiled).error());
  std::vector<int64_t> shape = inputs.x.shape;
  Operation op{"directml", std::move(compiled->plan), std::move(inputs).list(), std::move(shape)};
  return carry_out(op, o);
}

/// The shape of the output file: the output's Sizes, or the elements of its buffer where it has
/// Strides. `desc` must have been compiled, so that all its pointers are valid.
std::vector<int64_t> y_shape(const DML_OPERATOR_DESC& desc, const Plan& plan) {
  const DML_TENSOR_DESC* output =
      desc.Type == DML_OPERATOR_DEQUANTIZE
          ? static_cast<const DML_DEQUANTIZE_OPERATOR_DESC*>(desc.Desc)->OutputTensor
          : static_cast<const DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC*>(desc.Desc)
                ->OutputTensor;
  const auto& y = *static_cast<const DML_BUFFER_TENSOR_DESC*>(output->Desc);
  if (y.Strides != nullptr) return {extents(plan).y};
  return {y.Sizes, y.Sizes + y.DimensionCount};
}

/// Fails unless a file has all elements that the operator reads of a buffer.
Status check_extent(const OpTensor& tensor, int64_t needed) {
  DEQUANT_TRY(const int64_t held, element_count(Shape(tensor.shape)));
  if (held >= needed) return {};
  return failure(ErrorCode::invalid_argument, "{} holds {} elements where the operator reaches {}",
                 escaped(tensor.file), held, needed);
}

/// Runs an operator on buffers with the types and strides of a description.
Status run_described(DirectmlArguments& o) {
  DEQUANT_CHECK(format::OutputFile::check_folder(o.output));
  DEQUANT_CHECK(check_apart(o.output, o.desc));
  DEQUANT_TRY(const auto description, dml::read_description(o.desc));
  auto compiled = directml::compile(description->desc(), level_of(o));
  if (!compiled) return format::in(escaped(o.desc), std::move(compiled).error());
  const Plan& plan = compiled->plan;
  o.x_type = name(plan.input);
  o.scale_type = name(plan.scale);
  DEQUANT_TRY(OpInputs inputs, open_inputs(o));
  if (inputs.zero_point.has_value() != plan.has_zero_point) {
    return failure(ErrorCode::invalid_argument, "--zero-point: {} has {}", escaped(o.desc),
                   plan.has_zero_point ? "one" : "none");
  }
  const Extents needed = extents(plan);
  DEQUANT_CHECK(check_extent(inputs.x, needed.x));
  DEQUANT_CHECK(check_extent(inputs.scale, needed.scale));
  if (inputs.zero_point) DEQUANT_CHECK(check_extent(*inputs.zero_point, needed.zero_point));
  Operation op{"directml", plan, std::move(inputs).list(), y_shape(description->desc(), plan)};
  return carry_out(op, o);
}

Status run(DirectmlArguments& o) {
  if (!o.desc.empty()) return run_described(o);
  if (!o.operator_name.empty()) return run_packed(o);
  return failure(ErrorCode::invalid_argument, "give either --operator or --desc");
}

}  // namespace

void add_op_directml(const Command& op, int& exit_code) {
  auto o = std::make_shared<DirectmlArguments>();
  const Command c = op.add_subcommand("directml", "DirectML's operators that dequantize");
  o->add_x(c, "Type of x where numpy has none: int4 uint4");
  o->add_param_options(c, "float32 or float16; numpy has both");
  c.add_option("--feature-level", o->feature_level, "Of the device")
      .one_of(dml::feature_levels())
      .capture_default_str();
  const Option type =
      c.add_option("--operator", o->operator_name, "On packed tensors with the shapes of the files")
          .one_of({"ELEMENT_WISE_DEQUANTIZE_LINEAR", "DEQUANTIZE"});
  const Option quantization = c.add_option("--quantization-type", o->quantization, "Of DEQUANTIZE")
                                  .one_of({"SCALE", "SCALE_ZERO_POINT"});
  c.add_option("--desc", o->desc,
               "In place of --operator: a description in the JSON of DirectML's DxDispatch")
      .type_name("FILE")
      .check(not_empty)
      .excludes(type)
      .excludes(quantization)
      .excludes(c.get_option("--x-type"))
      .excludes(c.get_option("--scale-type"));
  o->add_rest(c);
  c.footer(
      "ELEMENT_WISE_DEQUANTIZE_LINEAR, since 1_0: x uint8; since 2_1 also int8 uint16 int16\n"
      "  uint32 int32. Scales float32; since 6_0 also float16. All tensors have the same sizes:\n"
      "  a scalar is broadcast by zero strides, which --desc can say.\n"
      "DEQUANTIZE, since 6_3: x uint8 int8 uint4 int4. Scales float32 float16, whose sizes divide\n"
      "  those of x: each serves a block.\n"
      "The zero point has the type of x, the output that of the scales.\n"
      "\n"
      "Examples:\n"
      "  dequant op directml --operator DEQUANTIZE --quantization-type SCALE_ZERO_POINT \\\n"
      "      --x x.npy --x-type uint4 --scale scale.npy --zero-point zero.npy -o y.npy\n"
      "  dequant op directml --desc op.json --feature-level 6_2 --x x.npy --scale s.npy -o y.npy\n"
      "\n"
      "With --desc a file holds its buffer's elements in the order of memory, in any shape. y has\n"
      "the output's Sizes; if that has Strides, one dimension, with zeros in the gaps.");
  c.callback([o, &exit_code] {
    at_work_on(o->x);
    if (auto status = run(*o); !status) exit_code = report(status.error());
  });
}

}  // namespace dequant::tools
