// `dequant convert`: converts a quantized model to a float model.
#include "format/model/convert.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "format/formats.h"
#include "format/io/errors.h"
#include "format/model/plan_words.h"
#include "format/model/report_json.h"
#include "format/model/share_environment.h"
#include "tools/commands.h"
#include "tools/common.h"
#include "tools/convert_options.h"
#include "tools/files.h"
#include "tools/inspect_folded.h"
#include "tools/json_text.h"
#include "tools/memory.h"
#include "tools/table.h"

namespace dequant::tools {
namespace {

using format::ConvertReport;
using format::escaped;
using nlohmann::ordered_json;

struct ConvertArguments {
  std::optional<std::string> input;
  std::string output;
  bool force = false;
  bool json = false;
  bool quiet = false;
  ConvertOptions model;
  format::ConvertOptions convert;
  std::optional<std::string> audit;
  bool resume = false;
  std::optional<std::string> share;
  std::optional<uint64_t> task;
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

void print_cleaned(const ConvertArguments& o, const std::vector<format::Leftover>& cleaned) {
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
    table.add({escaped(t.pattern), t.scheme, fmt::format("{} -> {}", t.type, t.output), t.shape,
               fmt::format("{}", t.count), fmt::format("{}", t.bytes),
               fmt::format("{}", t.float_bytes)});
  }
  fmt::print("{}\n", table.text());
}

void print_text(const ConvertArguments& o, const ConvertReport& r) {
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
                 shape_text(f.shape), format::granularity_text(f.plan, f.axis, f.shape),
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

void print_object(const ordered_json& j) { fmt::print("{}\n", json_text(j)); }

void print_json(const ConvertArguments& o, const ConvertReport& r) {
  ordered_json j{{"input", *o.input}, {"output", o.output}, {"dry_run", o.convert.write.dry_run}};
  j.update(to_json(r));
  print_object(j);
}

void print_warnings(const std::vector<std::string>& warnings) {
  for (const std::string& w : warnings) fmt::print(stderr, "dequant: warning: {}\n", w);
}

/// Runs --clean-temp without a model.
int clean(const ConvertArguments& o) {
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

/// The library's options of --shard and --task.
Status read_share(ConvertArguments& o) {
  if (!o.share && !o.task) return {};
  format::ShareOptions& share = o.convert.write.share.emplace();
  share.step = format::ShareOptions::Step::run;
  if (const auto bytes = o.model.task_bytes()) DEQUANT_CHECK(set_task_bytes(*bytes, share));
  if (o.convert.write.dry_run) {
    return format::failure(ErrorCode::invalid_argument,
                           "--dry-run is not for shares: dequant plan lists the tasks");
  }
  if (o.task) share.task = static_cast<int64_t>(std::min<uint64_t>(*o.task, INT64_MAX));
  if (!o.share) return {};
  DEQUANT_TRY(const format::ShareNumber number,
              *o.share == "auto"
                  ? format::share_of_environment([](const char* name) { return std::getenv(name); })
                  : format::share_from_text(*o.share));
  share.index = number.index;
  share.count = number.count;
  return {};
}

void print_share(const ConvertArguments& o, const ConvertReport& r) {
  const format::ShareReport& share = *r.share;
  int64_t bytes = 0;
  size_t done = 0;
  for (const format::TaskReport& task : share.tasks) {
    if (task.state != format::TaskReport::State::done) continue;
    bytes += task.bytes.end - task.bytes.begin;
    ++done;
  }
  if (o.json) {
    print_object({{"input", *o.input},
                  {"output", o.output},
                  {"share", format::to_json(share)},
                  {"bytes", bytes},
                  {"seconds", format::to_json(r.seconds)},
                  {"warnings", r.warnings}});
  } else if (!o.quiet) {
    fmt::print("{} of {} tasks done, {} found done ({} written)\n", done, share.count,
               share.tasks.size() - done, human_bytes(bytes));
  }
}

int run(ConvertArguments& o) {
  if (!o.input) {
    if (o.convert.clean_temp) return clean(o);
    return report({ErrorCode::invalid_argument, "MODEL is required; only --clean-temp needs none"});
  }
  at_work_on(*o.input);
  const bool dry_run = o.convert.write.dry_run;
  const bool clean_temp = o.convert.clean_temp;
  o.convert = o.model.library();
  o.convert.clean_temp = clean_temp;
  format::WriteOptions& write = o.convert.write;
  write.dry_run = dry_run;
  write.overwrite = o.force ? format::Overwrite::replace : format::Overwrite::refuse;
  if (o.audit) o.convert.open.own.set("audit", *o.audit);
  o.convert.open.own.set_if(o.resume, "resume");
  if (const Status read = read_share(o); !read) return report(read.error());
  auto progress = std::make_unique<Progress>("writing", o.quiet);
  write.progress = std::ref(*progress);
  const auto result = format::convert(format::formats(), *o.input, o.output, o.convert);
  progress.reset();
  if (!result) return report(result.error());
  print_warnings(result->warnings);
  if (result->share) {
    print_share(o, *result);
  } else if (o.json) {
    print_json(o, *result);
  } else if (!o.quiet) {
    print_text(o, *result);
  }
  return kDone;
}

}  // namespace

void add_convert(const Command& app, int& exit_code) {
  auto o = std::make_shared<ConvertArguments>();
  const Command c = app.add_subcommand("convert", "Turn a quantized model into a float one");
  c.add_option(
      "MODEL", o->input,
      "ONNX model, checkpoint folder or index, .safetensors file, GGUF file or TFLite model to "
      "read; may be left out with "
      "--clean-temp");
  c.add_option("-o,--output", o->output,
               "Model to write: a folder where MODEL is a folder; of a GGUF file a .gguf or "
               ".safetensors file, or a folder; of a TFLite model a .safetensors file")
      .required()
      .check(not_standard_output);
  o->model.add_to(c);
  c.add_option("--audit", o->audit,
               "Checkpoints, GGUF, TFLite: also write a file with a JSON line for each tensor: "
               "where it comes "
               "from, the hashes of its bytes, counts of its values; verify --audit reads it")
      .type_name("FILE")
      .check(not_standard_output);
  c.add_flag("--resume", o->resume,
             "Checkpoints, GGUF: continue an interrupted conversion after its last complete file");
  c.add_option(
       "--shard", o->share,
       "Carry out one share of the tasks, such as 0/8, the first of 8; auto: that which Slurm, "
       "torchrun, MPI or Kubernetes says. Of ONNX models the data file has tasks. dequant "
       "finalize then completes the output")
      .type_name("I/N|auto");
  c.add_option("--task", o->task, "Carry out the task of that number of dequant plan")
      .type_name("NUMBER")
      .excludes(c.get_option("--shard"));
  c.add_flag("--clean-temp", o->convert.clean_temp,
             "First remove temporary files of interrupted commands from the output's folder; "
             "without MODEL do nothing else, and -o may be the folder");
  c.add_flag("-n,--dry-run", o->convert.write.dry_run, "Decide and report, but write nothing");
  c.add_flag("-f,--force", o->force, "Replace the output if it exists");
  c.add_flag("-q,--quiet", o->quiet, "Print nothing but errors and warnings");
  c.add_flag("--json", o->json, "Print the report as one JSON object");
  c.footer(
      "Examples:\n"
      "  dequant convert quantized.onnx -o float.onnx\n"
      "  dequant convert quantized.onnx -o float.onnx --strip-qdq\n"
      "  dequant convert quantized.onnx -o half.onnx --dtype float16\n"
      "  dequant convert DeepSeek-V3 -o DeepSeek-V3-bf16 --dtype bfloat16\n"
      "  dequant convert model-Q4_K_M.gguf -o model --names hf --dtype bfloat16\n"
      "  dequant convert quantized.onnx -o float.onnx --include '*weight*' --dry-run\n"
      "  dequant convert DeepSeek-V3 -o out --shard 3/64     # then: dequant finalize out\n"
      "\n"
      "A node that cannot be folded stays as it was and is listed with the reason; that is an "
      "error "
      "only with --require-float.");
  c.callback([o, &exit_code] { exit_code = run(*o); });
}

}  // namespace dequant::tools
