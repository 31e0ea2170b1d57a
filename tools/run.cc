// `dequant run`: evaluates a model of DequantizeLinear, Constant and Identity nodes.
#include <fmt/format.h>
#include <sys/stat.h>

#include "format/formats.h"
#include "format/io/errors.h"
#include "format/io/output.h"
#include "format/npy/npy.h"
#include "format/onnx/evaluate.h"
#include "tools/commands.h"
#include "tools/common.h"
#include "tools/files.h"
#include "tools/memory.h"
#include "tools/table.h"

namespace dequant::tools {
namespace {

using format::escaped;
using format::onnx::InputType;
using format::onnx::NamedTensor;

struct RunArguments {
  std::string model;
  std::vector<std::string> inputs;
  std::string folder;
  std::string kind = "npy";
  bool force = false;
  Resources resources;
};

/// The element type that the model declares for each of its inputs.
Result<std::optional<Element>> declared_type(const std::vector<InputType>& types,
                                             const std::string& name) {
  for (const InputType& input : types) {
    if (input.name == name) return input.type;
  }
  return format::failure(ErrorCode::invalid_argument, "--input {}: the model has no such input",
                         escaped(name));
}

/// A file that is read; its path is added to `files`.
Result<NamedTensor> read_input(const std::vector<InputType>& types, const std::string& argument,
                               std::vector<std::string>& files) {
  // Names and paths may contain '='. The separator is the first '=' behind the name of an input.
  size_t equals = argument.find('=');
  if (equals == std::string::npos || equals == 0) {
    return format::failure(ErrorCode::invalid_argument, "--input {}: not of the form NAME=FILE",
                           escaped(argument));
  }
  for (size_t at = equals; at != std::string::npos; at = argument.find('=', at + 1)) {
    if (!declared_type(types, argument.substr(0, at))) continue;
    equals = at;
    break;
  }
  const std::string name = argument.substr(0, equals);
  const std::string path = argument.substr(equals + 1);
  DEQUANT_TRY(const auto type, declared_type(types, name));
  files.push_back(path);
  if (path.ends_with(".pb")) {
    DEQUANT_TRY(NamedTensor tensor, format::onnx::read_tensor_pb(path));
    tensor.name = name;
    return tensor;
  }
  std::string warning;
  DEQUANT_TRY(format::TensorData data, format::read_npy(path, type, &warning));
  if (!warning.empty()) fmt::print(stderr, "dequant: warning: {}\n", warning);
  return NamedTensor{name, std::move(data)};
}

std::string path_of(const RunArguments& o, size_t index, const NamedTensor& tensor) {
  return fmt::format("{}/{}.{}", o.folder, numbered_name(index, tensor.name), o.kind);
}

Status write_output(const RunArguments& o, size_t index, const NamedTensor& tensor, Table& table) {
  const std::string path = path_of(o, index, tensor);
  const auto overwrite = o.force ? format::Overwrite::replace : format::Overwrite::refuse;
  if (o.kind == "npy") {
    DEQUANT_CHECK(format::write_npy(path, numpy_ready(tensor.data), overwrite));
  } else {
    DEQUANT_TRY(format::OutputFile out, format::OutputFile::create(path, overwrite));
    DEQUANT_CHECK(out.write(format::onnx::tensor_pb(tensor)));
    DEQUANT_CHECK(out.commit());
  }
  table.add({escaped(tensor.name), std::string(name(tensor.data.element)),
             shape_text(tensor.data.shape), escaped(path)});
  return {};
}

/// ONNX is the format that takes every file that no other one recognises.
Status check_format(const std::string& model) {
  DEQUANT_TRY(const format::Format* found, format::recognised(format::formats(), model, {}));
  if (found == nullptr || found == format::formats().back()) return {};
  return format::failure(ErrorCode::unsupported, "{}: run evaluates ONNX models, not {}",
                         escaped(model), found->files);
}

Status run(RunArguments& o) {
  DEQUANT_CHECK(check_output_folder(o.folder));
  at_work_on(o.model);
  DEQUANT_CHECK(check_format(o.model));
  std::vector<NamedTensor> inputs;
  std::vector<std::string> files{o.model};
  {
    DEQUANT_TRY(const auto types, format::onnx::input_types(o.model));
    for (const std::string& argument : o.inputs) {
      DEQUANT_TRY(NamedTensor tensor, read_input(types, argument, files));
      inputs.push_back(std::move(tensor));
    }
  }
  DEQUANT_TRY(const auto outputs, format::onnx::evaluate(o.model, std::move(inputs),
                                                         o.resources.stream_options().executor));
  for (size_t i = 0; i < outputs.size(); ++i) {
    for (const std::string& file : files)
      DEQUANT_CHECK(check_apart(path_of(o, i, outputs[i]), file));
  }
  DEQUANT_CHECK(make_folder(o.folder));
  Table table({{"output"}, {"type"}, {"shape"}, {"file"}});
  for (size_t i = 0; i < outputs.size(); ++i) DEQUANT_CHECK(write_output(o, i, outputs[i], table));
  fmt::print("{}", table.text());
  return {};
}

}  // namespace

void add_run(const Command& app, int& exit_code) {
  auto o = std::make_shared<RunArguments>();
  const Command c = app.add_subcommand(
      "run", "Evaluate a model of DequantizeLinear, Constant and Identity nodes");
  c.add_option("MODEL", o->model, "ONNX model").required();
  c.add_option("--input", o->inputs,
               "A graph input and its value, in .npy or ONNX .pb; give the option once for each")
      .type_name("NAME=FILE")
      .one_value();
  c.add_option("-o,--output", o->folder,
               "Folder for the outputs, as 0000-NAME.npy and so on, made if it is not there")
      .required()
      .check(not_standard_output);
  c.add_option("--format", o->kind, "Kind of the output files: npy or pb")
      .one_of({"npy", "pb"})
      .capture_default_str();
  c.add_flag("-f,--force", o->force, "Replace output files that exist");
  o->resources.add_to(c);
  c.footer(
      "Examples:\n"
      "  dequant run node.onnx --input x=x.npy --input x_scale=scale.npy -o outputs\n"
      "  dequant run node.onnx --input x=input_0.pb --input x_scale=input_1.pb -o outputs --format "
      "pb\n"
      "\n"
      "Types that numpy lacks are read as their codes: one byte an element, 16 bits for bfloat16. "
      "A\n"
      "bfloat16 output is widened to float32, exactly, in .npy files.");
  c.callback([o, &exit_code] {
    if (auto status = run(*o); !status) exit_code = report(status.error());
  });
}

}  // namespace dequant::tools
