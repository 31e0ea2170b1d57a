// `dequant op tensorflow`: Dequantize, which has ranges instead of scales.
#include "dequant/tensorflow.h"

#include "format/io/errors.h"
#include "format/io/output.h"
#include "tools/commands.h"
#include "tools/memory.h"
#include "tools/op.h"

namespace dequant::tools {
namespace {

namespace tf = dequant::tensorflow;

struct TensorflowArguments : OpOptions {
  std::string version = "2";
  std::string mode = "MIN_COMBINED";
  std::string min;
  std::string max;
  std::optional<int64_t> raw_axis;
  std::optional<int64_t> python_axis;
  bool narrow_range = false;
  std::string dtype = "float32";
  std::string semantics = "kernel";
};

/// The element of TensorFlow's name or of dequant's: arrays of numpy have uint8, TensorFlow has
/// quint8.
Result<std::optional<Element>> x_element(const std::string& type_name) {
  if (const auto element = tf::element_from_name(type_name)) return element;
  return named_element("--x-type", type_name);
}

tf::Dequantize node_of(const TensorflowArguments& o) {
  tf::Dequantize node;
  node.version = o.version == "1.4" ? tf::Version::r1_4 : tf::Version::r2;
  // The parser of the command line has checked the names.
  node.mode = tf::mode_from_name(o.mode).value_or(tf::Mode::min_combined);
  node.narrow_range = o.narrow_range;
  if (o.raw_axis) node.axis = tf::RawAxis{*o.raw_axis};
  if (o.python_axis) node.axis = tf::PythonAxis{o.python_axis};
  node.dtype = element_from_name(o.dtype).value_or(Element::float32);
  node.semantics = o.semantics == "documented" ? tf::Semantics::documented : tf::Semantics::kernel;
  return node;
}

Status run(TensorflowArguments& o) {
  DEQUANT_CHECK(format::OutputFile::check_folder(o.output));
  DEQUANT_TRY(const auto x_type, x_element(o.x_type));
  DEQUANT_TRY(OpTensor x, open_tensor("x", "--x", o.x, x_type, "--x-type"));
  DEQUANT_TRY(OpTensor min, numbers_or_file("min_range", "--min", o.min));
  DEQUANT_TRY(OpTensor max, numbers_or_file("max_range", "--max", o.max));
  tf::Dequantize node = node_of(o);
  node.input = x.type();
  node.min_range = min.type();
  node.max_range = max.type();
  auto plan = tf::dequantize(node);
  if (!plan) return format::in("tensorflow", std::move(plan).error());
  Operation op;
  op.dialect = "tensorflow";
  op.plan = *std::move(plan);
  op.y_shape = x.shape;
  op.inputs = {std::move(x), std::move(min), std::move(max)};
  return carry_out(op, o);
}

void add_attributes(const Command& c, TensorflowArguments& o) {
  c.add_option("--min", o.min, "min_range: a number, numbers separated by commas, or an .npy file")
      .type_name("RANGE")
      .required();
  c.add_option("--max", o.max, "max_range, likewise").type_name("RANGE").required();
  c.add_option("--version", o.version, "The interface: of r1.4, or of today")
      .one_of({"1.4", "2"})
      .capture_default_str();
  c.add_option("--mode", o.mode, "What the ranges mean")
      .one_of({"MIN_COMBINED", "MIN_FIRST", "SCALED"})
      .capture_default_str();
  const Option raw = c.add_option(
      "--axis", o.raw_axis, "The axis of tf.raw_ops.Dequantize: -1, the default, is per tensor");
  c.add_option("--python-axis", o.python_axis,
               "The axis of tf.quantization.dequantize: -1 is the last dimension")
      .excludes(raw);
  c.add_flag("--narrow-range", o.narrow_range,
             "SCALED of signed types: the lowest code is not used");
  c.add_option("--dtype", o.dtype, "Type of the output; bfloat16 only with MIN_COMBINED")
      .one_of({"float32", "bfloat16"})
      .capture_default_str();
  c.add_option("--semantics", o.semantics,
               "The bits of TensorFlow's CPU kernel, or the formulas of the r1.4 page")
      .one_of({"kernel", "documented"})
      .capture_default_str();
}

}  // namespace

void add_op_tensorflow(const Command& op, int& exit_code) {
  auto o = std::make_shared<TensorflowArguments>();
  const Command c = op.add_subcommand("tensorflow", "Dequantize of TensorFlow");
  o->add_x(c, "Type of x; an array of uint8 is quint8 without it, int8 is qint8, and so on");
  add_attributes(c, *o);
  o->add_rest(c);
  c.footer(
      "x: quint8 qint8 quint16 qint16 qint32. Ranges are float32.\n"
      "Version 1.4 has no axis, narrow range or dtype; documented semantics are of it alone.\n"
      "\n"
      "Examples:\n"
      "  dequant op tensorflow --x x.npy --min -1 --max 6 --mode MIN_FIRST -o y.npy\n"
      "  dequant op tensorflow --x x.npy --min -1,-2,-0.5 --max 1,2,0.5 --mode SCALED \\\n"
      "      --python-axis -1 -o y.npy\n"
      "  dequant op tensorflow --x x.npy --min min.npy --max max.npy --version 1.4 \\\n"
      "      --semantics documented -o y.npy");
  c.callback([o, &exit_code] {
    at_work_on(o->x);
    if (auto status = run(*o); !status) exit_code = report(status.error());
  });
}

}  // namespace dequant::tools
