// `dequant op onnx`, `microsoft` and `webnn`: DequantizeLinear of x, scale and zero point.
#include "dequant/microsoft.h"
#include "dequant/onnx.h"
#include "dequant/webnn.h"
#include "format/io/errors.h"
#include "tools/commands.h"
#include "tools/memory.h"
#include "tools/op_inputs.h"

namespace dequant::tools {
namespace {

struct OnnxOptions : OpInputOptions {
  int64_t opset = onnx::kNewestOpset;
  std::optional<int64_t> axis;
  std::optional<int64_t> block_size;
  std::string output_dtype;
};

/// Runs a plan on its inputs; y has the shape of x.
Status carry_out_plan(const char* dialect, Result<Plan> plan, OpInputs inputs, OpOptions& o) {
  if (!plan) return format::in(dialect, std::move(plan).error());
  Operation op;
  op.dialect = dialect;
  op.plan = *std::move(plan);
  op.y_shape = inputs.x.shape;
  op.inputs = std::move(inputs).list();
  return carry_out(op, o);
}

Status run_onnx(OnnxOptions& o) {
  DEQUANT_TRY(OpInputs inputs, open_inputs(o));
  DEQUANT_TRY(const auto output, named_element("--output-dtype", o.output_dtype));
  onnx::DequantizeLinear node;
  node.opset = o.opset;
  node.x = inputs.x.type();
  node.x_scale = inputs.scale.type();
  if (inputs.zero_point) node.x_zero_point = inputs.zero_point->type();
  node.axis = o.axis;
  node.block_size = o.block_size;
  if (output) node.output_dtype = onnx_code(*output);
  auto plan = onnx::dequantize_linear(node);
  return carry_out_plan("onnx", std::move(plan), std::move(inputs), o);
}

Status run_microsoft(OnnxOptions& o) {
  DEQUANT_TRY(OpInputs inputs, open_inputs(o));
  microsoft::DequantizeLinear node;
  node.x = inputs.x.type();
  node.x_scale = inputs.scale.type();
  if (inputs.zero_point) node.x_zero_point = inputs.zero_point->type();
  node.axis = o.axis;
  auto plan = microsoft::dequantize_linear(node);
  return carry_out_plan("microsoft", std::move(plan), std::move(inputs), o);
}

Status run_webnn(OpInputOptions& o) {
  DEQUANT_TRY(OpInputs inputs, open_inputs(o));
  webnn::DequantizeLinear node;
  node.input = inputs.x.type();
  node.scale = inputs.scale.type();
  if (inputs.zero_point) node.zero_point = inputs.zero_point->type();  // a required option
  auto plan = webnn::dequantize_linear(node);
  return carry_out_plan("webnn", std::move(plan), std::move(inputs), o);
}

void add_onnx(const Command& op, int& exit_code) {
  auto o = std::make_shared<OnnxOptions>();
  const Command c = op.add_subcommand("onnx", "DequantizeLinear of ai.onnx, opsets 10 to 28");
  o->add_x(c, "Type of x where numpy has none: int4 uint4 int2 uint2 float4e2m1 float8e4m3fn ...");
  o->add_param_options(c, "Type of the scales where numpy has none: bfloat16 float8e8m0");
  c.add_option("--opset", o->opset, "The opset, whose newest version of the operator holds")
      .capture_default_str();
  c.add_option("--axis", o->axis, "Since 13, default 1; negative counts from the back");
  c.add_option("--block-size", o->block_size, "Since 21: elements of the axis to a scale");
  c.add_option("--output-dtype", o->output_dtype,
               "Since 23: float32, float16 or bfloat16; default: the type of the scales")
      .type_name("TYPE")
      .check(not_empty);
  o->add_rest(c);
  c.footer(
      "x: uint8 int8 int32; since 19 float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz;\n"
      "  since 21 uint16 int16 uint4 int4; since 23 float4e2m1; since 25 uint2 int2;\n"
      "  since 28 the floats of 6 bits.\n"
      "Scales: float32; since 19 float16 bfloat16; since 24 float8e8m0.\n"
      "The zero point has the type of x.\n"
      "\n"
      "Examples:\n"
      "  dequant op onnx --x x.npy --scale scale.npy -o y.npy\n"
      "  dequant op onnx --x codes.npy --x-type int4 --scale scale.npy --zero-point zero.npy \\\n"
      "      --axis 0 --block-size 32 --output-dtype bfloat16 -o y.npy");
  c.callback([o, &exit_code] {
    at_work_on(o->x);
    if (auto status = run_onnx(*o); !status) exit_code = report(status.error());
  });
}

void add_microsoft(const Command& op, int& exit_code) {
  auto o = std::make_shared<OnnxOptions>();
  const Command c = op.add_subcommand("microsoft", "DequantizeLinear of com.microsoft, version 1");
  o->add_x(c, "Type of x where numpy has none: int4 uint4");
  o->add_param_options(c, "float32 or float16; numpy has both");
  c.add_option("--axis", o->axis, "Default 1; negative counts from the back");
  o->add_rest(c);
  c.footer(
      "x: uint8 int8 uint16 int16 int32 uint4 int4. The zero point has the type of x.\n"
      "Scales, whose type the output has: float32 float16.\n"
      "\n"
      "Example:\n"
      "  dequant op microsoft --x x.npy --scale scale.npy --zero-point zero.npy --axis 0 -o y.npy");
  c.callback([o, &exit_code] {
    at_work_on(o->x);
    if (auto status = run_microsoft(*o); !status) exit_code = report(status.error());
  });
}

void add_webnn(const Command& op, int& exit_code) {
  auto o = std::make_shared<OpInputOptions>();
  const Command c = op.add_subcommand("webnn", "dequantizeLinear of WebNN");
  o->add_x(c, "Type of x where numpy has none: int4 uint4");
  o->add_param_options(c, "float32 or float16; numpy has both");
  c.get_option("--zero-point").required();
  o->add_rest(c);
  c.footer(
      "x: uint8 int8 uint32 int32 uint4 int4.\n"
      "Scales, whose type the output has: float32 float16. Their rank is that of x, their sizes\n"
      "  divide those of x: each serves a block.\n"
      "The zero point has the type of x and the shape of the scales.\n"
      "\n"
      "Example:\n"
      "  dequant op webnn --x x.npy --scale scale.npy --zero-point zero.npy -o y.npy");
  c.callback([o, &exit_code] {
    at_work_on(o->x);
    if (auto status = run_webnn(*o); !status) exit_code = report(status.error());
  });
}

}  // namespace

void add_op_linear(const Command& op, int& exit_code) {
  add_onnx(op, exit_code);
  add_microsoft(op, exit_code);
  add_webnn(op, exit_code);
}

}  // namespace dequant::tools
