// `dequant op SCHEME`: one dense tensor of a quantized checkpoint from its stored tensors. The
// options of a scheme are made from the list of schemes.
#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "dequant/scheme.h"
#include "format/io/errors.h"
#include "format/io/output.h"
#include "tools/commands.h"
#include "tools/memory.h"
#include "tools/op.h"

namespace dequant::tools {
namespace {

/// The options of a tensor: its file, and its type where numpy has none.
struct TensorOptions {
  std::string_view name;
  std::string file;
  std::string type;
};

struct Setting {
  std::string_view name;
  std::string value;
};

struct SchemeOptions : OpOptions {
  std::string_view scheme;
  std::deque<TensorOptions> tensors;
  std::deque<Setting> settings;
  std::string dtype = "float32";
};

/// The producer's name of a tensor or setting, without the '_' that some begin with: "_data".
std::string spelled(std::string_view name, const char* end = "") {
  name.remove_prefix(std::min(name.find_first_not_of('_'), name.size()));
  return fmt::format("--{}{}", name, end);
}

/// "weight_scale" as an option: "--weight-scale".
std::string option_of(std::string_view name, const char* end = "") {
  std::string text = spelled(name, end);
  std::replace(text.begin() + 2, text.end(), '_', '-');
  return text;
}

/// All names of the option: "--weight-scale,--weight_scale", and "--scale".
std::string names_of(std::string_view name, const char* end = "") {
  const bool one = spelled(name) == option_of(name);
  return option_of(name, end) + (one ? "" : "," + spelled(name, end));
}

Result<std::vector<OpTensor>> open_all(const SchemeOptions& o) {
  DEQUANT_CHECK(format::OutputFile::check_folder(o.output));
  std::vector<OpTensor> tensors;
  for (const TensorOptions& t : o.tensors) {
    if (t.file.empty()) continue;
    const std::string type_option = option_of(t.name, "_type");
    DEQUANT_TRY(const auto type, named_element(type_option.c_str(), t.type));
    DEQUANT_TRY(OpTensor tensor, open_tensor(std::string(t.name), option_of(t.name), t.file, type,
                                             type_option.c_str()));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

Status run(SchemeOptions& o) {
  Operation op;
  op.dialect = o.scheme;
  DEQUANT_TRY(op.inputs, open_all(o));
  std::vector<SchemeTensor> types;
  for (const OpTensor& t : op.inputs) types.push_back({t.name, t.type()});
  std::vector<SchemeOption> given;
  for (const Setting& s : o.settings) {
    if (!s.value.empty()) given.push_back({s.name, s.value});
  }
  auto dense = plan_scheme({o.scheme, types, given, *element_from_name(o.dtype)});
  if (!dense) return format::in(o.scheme, std::move(dense).error());
  const auto name = [&](std::optional<size_t> i, const char* buffer) {
    if (i) op.inputs[*i].buffer = buffer;
  };
  name(dense->x, "x");
  name(dense->scale, "scale");
  name(dense->zero_point, "zero_point");
  name(dense->tensor_scale, "tensor_scale");
  name(dense->group_index, "group_index");
  name(dense->codebook, "codebook");
  op.codebook = std::as_bytes(dense->values);
  op.names = dense->names;
  op.plan = std::move(dense->plan);
  op.y_shape = std::move(dense->shape);
  return carry_out(op, o);
}

void add_scheme(const Command& op, const Scheme& scheme, int& exit_code) {
  auto o = std::make_shared<SchemeOptions>();
  o->scheme = scheme.name;
  const Command c = op.add_subcommand(std::string(scheme.name).c_str(),
                                      fmt::format("A tensor of {}", scheme.producers).c_str());
  for (const SchemeInput& input : scheme.inputs) {
    TensorOptions& t = o->tensors.emplace_back(TensorOptions{input.name, {}, {}});
    const auto file = c.add_option(names_of(input.name).c_str(), t.file,
                                   fmt::format(".npy: {}", input.what).c_str())
                          .type_name("FILE")
                          .check(not_empty);
    if (input.required) file.required();
    c.add_option(names_of(input.name, "_type").c_str(), t.type, "Its type where numpy has none")
        .type_name("TYPE")
        .check(not_empty);
  }
  for (const SchemeSetting& setting : scheme.settings) {
    Setting& s = o->settings.emplace_back(Setting{setting.name, {}});
    c.add_option(names_of(setting.name).c_str(), s.value, std::string(setting.what).c_str())
        .type_name("VALUE")
        .check(not_empty);
  }
  c.add_option("--dtype", o->dtype, "Type of the output")
      .one_of({"float32", "float16", "bfloat16"})
      .capture_default_str();
  o->add_rest(c);
  c.footer("");  // else it is that of `op`
  c.callback([o, &exit_code] {
    at_work_on(o->tensors.front().file);
    if (auto status = run(*o); !status) exit_code = report(status.error());
  });
}

}  // namespace

void add_op_schemes(const Command& op, int& exit_code) {
  for (const Scheme& scheme : schemes()) add_scheme(op, scheme, exit_code);
}

}  // namespace dequant::tools
