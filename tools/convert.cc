// `dequant convert`: converts a quantized model to a float model.
#include "format/model/convert.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>

#include "format/formats.h"
#include "format/io/errors.h"
#include "format/model/plan_words.h"
#include "format/model/report_json.h"
#include "tools/commands.h"
#include "tools/common.h"
#include "tools/files.h"
#include "tools/inspect_folded.h"
#include "tools/memory.h"
#include "tools/names_option.h"
#include "tools/table.h"

namespace dequant::tools {
namespace {

using format::ConvertReport;
using format::escaped;
using nlohmann::ordered_json;

struct Options {
  std::optional<std::string> input;
  std::string output;
  bool force = false;
  bool json = false;
  bool quiet = false;
  Resources resources;
  std::string dtype;
  format::ConvertOptions convert;
  // Only of some formats:
  bool strip_qdq = false;
  std::optional<std::string> clip;
  bool assume_const = false;
  bool external_data = false;
  NamesOption names;
  bool no_checksum = false;
  bool keep_unknown = false;
  std::optional<std::string> others;
  std::optional<std::string> max_shard_size;
  std::optional<std::string> shards;
  std::optional<std::string> audit;
  bool resume = false;
};

/// "0.5", "0.5, 0.25, ... (64)", or "not known".
std::string numbers_text(const format::Listed& listed) {
  constexpr size_t kMost = 3;
  if (!listed.known) return "not known";
  std::string text;
  for (size_t i = 0; i < std::min(kMost, listed.numbers.size()); ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : ", ", static_cast<float>(listed.numbers[i]));
  }
  return listed.numbers.size() <= kMost ? text
                                        : fmt::format("{}, ... ({})", text, listed.numbers.size());
}

void print_changed(std::string_view what, const std::vector<format::ChangedValue>& values) {
  using enum Align;
  if (values.empty()) return;
  Table table({{fmt::format("changed {}", what)},
               {"was"},
               {"is"},
               {"scale", right},
               {"zero point", right}});
  for (const auto& c : values) {
    table.add({escaped(c.name), std::string(name(c.from)), std::string(name(c.to)),
               numbers_text(c.scale), numbers_text(c.zero_point)});
  }
  fmt::print("{}\n", table.text());
}

void print_cleaned(const Options& o, const std::vector<format::Leftover>& cleaned) {
  for (const auto& l : cleaned) {
    fmt::print("{} ({}) {}: the run that wrote it is dead\n", l.name, human_bytes(l.bytes),
               o.convert.write.dry_run ? "would be removed" : "removed");
  }
}

/// Names that differ in numbers only are on one line: there are very many.
void print_folded(const ConvertReport& r) {
  using enum Align;
  Table table({{r.words.converted_title},
               {"scheme"},
               {"type"},
               {"shape"},
               {"tensors", right},
               {"bytes", right},
               {"as float", right}});
  for (const FoldedTensors& t : folded(r.converted)) {
    table.add({t.pattern, t.scheme, fmt::format("{} -> {}", t.type, t.output), t.shape,
               fmt::format("{}", t.count), fmt::format("{}", t.bytes),
               fmt::format("{}", t.float_bytes)});
  }
  fmt::print("{}\n", table.text());
}

void print_text(const Options& o, const ConvertReport& r) {
  using enum Align;
  print_cleaned(o, r.cleaned);
  if (!r.converted.empty() && r.words.folds) {
    print_folded(r);
  } else if (!r.converted.empty()) {
    Table table({{r.words.converted_title},
                 {"from"},
                 {"type"},
                 {"shape"},
                 {"granularity"},
                 {"bytes", right},
                 {"as float", right}});
    for (const auto& f : r.converted) {
      table.add({escaped(f.name), escaped(f.source),
                 fmt::format("{} -> {}", format::codes_text(f.plan), name(f.plan.output)),
                 shape_text(f.shape), granularity_text(f.plan, f.axis, f.shape),
                 fmt::format("{}", f.bytes_before), fmt::format("{}", f.bytes_after)});
    }
    fmt::print("{}\n", table.text());
  }
  if (!r.stripped.empty()) {
    Table table({{"taken out"}, {"operator"}, {"in its place"}});
    for (const auto& s : r.stripped) table.add({escaped(s.node), s.op_type, s.how});
    fmt::print("{}\n", table.text());
  }
  print_changed("input", r.inputs_changed);
  print_changed("output", r.outputs_changed);
  if (!r.left.empty()) {
    const bool graph = r.words.has_graph;
    Table table({{"left as it was"}, {graph ? "operator" : "scheme"}, {"because"}});
    for (const auto& l : r.left)
      table.add({escaped(graph ? l.node : l.name), graph ? l.op_type : l.scheme, l.reason});
    fmt::print("{}\n", table.text());
  }
  if (!r.dropped.empty()) {
    fmt::print("{} tensors are not needed, such as {}: {}\n", r.dropped.size(),
               escaped(r.dropped[0].name), r.dropped[0].reason);
  }
  if (!r.files_left_out.empty()) {
    fmt::print("not copied: {}\n", escaped(fmt::format("{}", fmt::join(r.files_left_out, ", "))));
  }
  const auto bytes = converted_bytes(r);
  fmt::print("{} {} ({} quantized, {} as float), {}{} left\n", r.converted.size(),
             r.words.converted, human_bytes(bytes.before), human_bytes(bytes.after),
             r.words.has_graph ? fmt::format("{} nodes taken out, ", r.stripped.size()) : "",
             r.left.size());
  const std::string data = r.data_file.empty() ? ""
                                               : fmt::format(" and {} ({})", escaped(r.data_file),
                                                             human_bytes(r.data_bytes));
  fmt::print("{} ({}) -> {} ({}){}{}\n", escaped(*o.input), human_bytes(r.bytes_in),
             escaped(o.output), human_bytes(r.bytes_out), data,
             o.convert.write.dry_run ? ", not written (--dry-run)" : "");
}

void print_object(const ordered_json& j) {
  fmt::print("{}\n", j.dump(2, ' ', false, ordered_json::error_handler_t::replace));
}

void print_json(const Options& o, const ConvertReport& r) {
  ordered_json j{{"input", *o.input}, {"output", o.output}, {"dry_run", o.convert.write.dry_run}};
  j.update(to_json(r));
  print_object(j);
}

void print_warnings(const std::vector<std::string>& warnings) {
  for (const std::string& w : warnings) fmt::print(stderr, "dequant: warning: {}\n", w);
}

/// Runs --clean-temp without a model.
int clean(const Options& o) {
  const auto removal = o.convert.write.dry_run ? format::Removal::pretended : format::Removal::done;
  auto cleaned = format::remove_leftovers(
      is_folder(o.output) ? o.output : format::folder_of(o.output), removal);
  if (!cleaned) return report(cleaned.error());
  std::vector<std::string> warnings;
  format::warn_of_kept(*cleaned, warnings);
  print_warnings(warnings);
  if (o.json) {
    print_object({{"output", o.output},
                  {"dry_run", o.convert.write.dry_run},
                  {"cleaned", format::to_json(*cleaned)},
                  {"warnings", warnings}});
  } else if (!o.quiet) {
    print_cleaned(o, *cleaned);
  }
  return kDone;
}

int run(Options& o) {
  if (!o.input) {
    if (o.convert.clean_temp) return clean(o);
    return report({ErrorCode::invalid_argument, "MODEL is required; only --clean-temp needs none"});
  }
  at_work_on(*o.input);
  format::FormatOptions& own = o.convert.open.own;
  own.set_if(o.strip_qdq, "strip-qdq");
  if (o.clip) own.set("clip", *o.clip);
  own.set_if(o.assume_const, "assume-const");
  own.set_if(o.external_data, "external-data");
  own.set_if(o.no_checksum, "no-checksum");
  o.names.set(o.convert.open);
  own.set_if(o.keep_unknown, "keep-unknown");
  if (o.others) own.set("others", *o.others);
  if (o.max_shard_size) own.set("max-shard-size", *o.max_shard_size);
  if (o.shards) own.set("shards", *o.shards);
  if (o.audit) own.set("audit", *o.audit);
  own.set_if(o.resume, "resume");
  o.convert.open.memory = o.resources.structure_memory();
  format::WriteOptions& write = o.convert.write;
  write.overwrite = o.force ? format::Overwrite::replace : format::Overwrite::refuse;
  if (!o.dtype.empty()) write.dtype = element_from_name(o.dtype);
  write.stream = o.resources.stream_options();
  auto progress = std::make_unique<Progress>("writing");
  write.progress = [&](int64_t done, int64_t total) -> Status {
    progress->update(done, total);
    return {};
  };
  const auto result = format::convert(format::formats(), *o.input, o.output, o.convert);
  progress.reset();
  if (!result) return report(result.error());
  const bool to_folder = is_folder(*o.input) || (result->words.folds && is_folder(o.output));
  if (write.dry_run && !to_folder) {  // reports an existing file as without --dry-run
    const auto probe = format::OutputFile::create(o.output, write.overwrite);
    if (!probe) return report(probe.error());
  }
  print_warnings(result->warnings);
  if (o.json) {
    print_json(o, *result);
  } else if (!o.quiet) {
    print_text(o, *result);
  }
  return kDone;
}

}  // namespace

void add_convert(const Command& app, int& exit_code) {
  auto o = std::make_shared<Options>();
  const Command c = app.add_subcommand("convert", "Turn a quantized model into a float one");
  c.add_option("MODEL", o->input,
               "ONNX model, checkpoint folder, .safetensors file, GGUF file or TFLite model to "
               "read; may be left out with "
               "--clean-temp");
  c.add_option("-o,--output", o->output,
               "Model to write: a folder where MODEL is a folder; of a GGUF file a .gguf or "
               ".safetensors file, or a folder; of a TFLite model a .safetensors file")
      .required()
      .check(not_standard_output);
  c.add_flag("--strip-qdq", o->strip_qdq,
             "Also take QuantizeLinear and DequantizeLinear off activations, inputs and outputs");
  c.add_option("--clip", o->clip,
               "Where a Clip keeps the range of a pair that --strip-qdq takes out; default needed")
      .one_of({"needed", "always", "never"})
      .needs(c.get_option("--strip-qdq"));
  c.add_option("--dtype", o->dtype,
               "Type of the dequantized tensors, rounded once from float32; default: that of each "
               "node, or that a checkpoint's model computes in. ONNX: a Cast gives readers of a "
               "constant the type it had")
      .one_of({"float32", "float16", "bfloat16"});
  c.add_flag("--assume-const", o->assume_const,
             "Take initializers that are graph inputs, and could be overridden, as constant");
  c.add_flag(
      "--external-data", o->external_data,
      "Write float tensors of 1 KiB and more to a data file beside the model, whatever its size");
  c.add_option("--include", o->convert.write.selection.include,
               "Only nodes whose name, output or x matches this glob")
      .type_name("GLOB")
      .one_value();
  c.add_option("--exclude", o->convert.write.selection.exclude,
               "No nodes whose name, output or x matches this glob")
      .type_name("GLOB")
      .one_value();
  c.add_flag("--require-float", o->convert.write.require_float,
             "Write nothing and exit with 4 where anything stays quantized");
  c.add_flag("--no-checksum", o->no_checksum,
             "Do not verify external data by the checksums that the model gives");
  o->names.add_to(c);
  c.add_option("--others", o->others,
               "Checkpoints, GGUF, TFLite: tensors that are not quantized keep their type, or get "
               "that of the "
               "dequantized ones; default keep")
      .one_of({"keep", "same"});
  c.add_option("--max-shard-size", o->max_shard_size,
               "Checkpoints, GGUF: bytes of a file of the output at most, such as 5G; default 5G")
      .type_name("SIZE");
  c.add_option("--shards", o->shards,
               "Checkpoints: the files of the output have the names and tensors of the input's")
      .one_of({"as-input"});
  c.add_option("--audit", o->audit,
               "Checkpoints, GGUF, TFLite: also write a file with a JSON line for each tensor: "
               "where it comes "
               "from, the hashes of its bytes, counts of its values; verify --audit reads it")
      .type_name("FILE")
      .check(not_standard_output);
  c.add_flag("--resume", o->resume,
             "Checkpoints, GGUF: continue an interrupted conversion after its last complete file");
  c.add_flag("--keep-unknown", o->keep_unknown,
             "Checkpoints: copy quantized tensors that nothing says how to dequantize, with a "
             "warning; else that is an error");
  c.add_flag("--clean-temp", o->convert.clean_temp,
             "First remove temporary files of interrupted commands from the output's folder; "
             "without MODEL do nothing else, and -o may be the folder");
  c.add_flag("-n,--dry-run", o->convert.write.dry_run, "Decide and report, but write nothing");
  c.add_flag("-f,--force", o->force, "Replace the output if it exists");
  c.add_flag("-q,--quiet", o->quiet, "Print nothing but errors and warnings");
  c.add_flag("--json", o->json, "Print the report as one JSON object");
  o->resources.add_to(c);
  c.footer(
      "Examples:\n"
      "  dequant convert quantized.onnx -o float.onnx\n"
      "  dequant convert quantized.onnx -o float.onnx --strip-qdq\n"
      "  dequant convert quantized.onnx -o half.onnx --dtype float16\n"
      "  dequant convert DeepSeek-V3 -o DeepSeek-V3-bf16 --dtype bfloat16\n"
      "  dequant convert model-Q4_K_M.gguf -o model --names hf --dtype bfloat16\n"
      "  dequant convert quantized.onnx -o float.onnx --include '*weight*' --dry-run\n"
      "\n"
      "A node that cannot be folded stays as it was and is listed with the reason; that is an "
      "error "
      "only with --require-float.");
  c.callback([o, &exit_code] { exit_code = run(*o); });
}

}  // namespace dequant::tools
