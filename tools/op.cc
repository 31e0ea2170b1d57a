// `dequant op`: runs one operator of a dialect on .npy files, and writes one.
#include "tools/op.h"

#include "tools/commands.h"
#include "tools/files.h"

namespace dequant::tools {
namespace {

/// Examples of all dialects; `dequant op DIALECT --help` has the details.
constexpr const char* kFooter =
    "Each dialect's options, its x types, and the types of its output:\n"
    "  onnx        --scale --zero-point --opset --axis --block-size --output-dtype --scale-type\n"
    "              uint8 int8 uint16 int16 int32 uint4 int4 uint2 int2 float8e4m3fn\n"
    "              float8e4m3fnuz float8e5m2 float8e5m2fnuz float4e2m1 and the\n"
    "              floats of 6 bits; float32 float16 bfloat16\n"
    "  microsoft   --scale --zero-point --axis --scale-type\n"
    "              uint8 int8 uint16 int16 int32 uint4 int4; float32 float16\n"
    "  tensorflow  --min --max --version --mode --axis --python-axis --narrow-range --dtype\n"
    "              --semantics\n"
    "              quint8 qint8 quint16 qint16 qint32; float32 bfloat16\n"
    "  directml    --scale --zero-point --feature-level --operator --quantization-type --desc\n"
    "              --scale-type\n"
    "              uint8 int8 uint16 int16 uint32 int32 uint4 int4; float32 float16\n"
    "  webnn       --scale --zero-point --scale-type\n"
    "              uint8 int8 uint32 int32 uint4 int4; float32 float16\n"
    "  Each scheme of checkpoints has an option for each tensor, by the producer's name, and for\n"
    "  each setting.\n"
    "\n"
    "Examples:\n"
    "  dequant op onnx --x x.npy --scale scale.npy --zero-point zero.npy --axis 0 -o y.npy\n"
    "  dequant op tensorflow --x x.npy --min -1 --max 6 --mode MIN_FIRST -o y.npy\n"
    "  dequant op gguf --data blocks.npy --type Q4_K --shape 4096,4096 -o y.npy\n"
    "  dequant op directml --help";

}  // namespace

std::string not_empty(const std::string& text) { return text.empty() ? "is empty" : ""; }

void OpOptions::add_x(const Command& command, const char* types) {
  command.add_option("--x", x, "The quantized tensor, .npy").type_name("FILE").required();
  command.add_option("--x-type", x_type, types).type_name("TYPE").check(not_empty);
}

void OpOptions::add_rest(const Command& command) {
  command.add_option("-o,--output", output, "The .npy file to write")
      .type_name("FILE")
      .required()
      .check(not_standard_output);
  command.add_flag("-n,--dry-run", dry_run, "Plan and report, but write nothing");
  command.add_flag("-f,--force", force, "Replace the output if it exists");
  command.add_flag("--json", json, "Print one JSON object instead of a table");
  threads.add_to(command);
}

void add_op(const Command& app, bool with_dialects, int& exit_code) {
  const Command op = app.add_subcommand("op", "Run one operator of any dialect on .npy files");
  op.require_subcommand();
  op.footer(kFooter);
  if (!with_dialects) return;
  add_op_linear(op, exit_code);
  add_op_tensorflow(op, exit_code);
  add_op_directml(op, exit_code);
  add_op_schemes(op, exit_code);
}

}  // namespace dequant::tools
