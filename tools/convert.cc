// `dequant convert`: from a quantized model to a float one.
#include "format/onnx/convert.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "format/io/errors.h"
#include "tools/commands.h"
#include "tools/common.h"
#include "tools/table.h"

namespace dequant::tools {
namespace {

using format::escaped;
using format::onnx::ConvertReport;
using nlohmann::ordered_json;

struct Options {
  std::string input;
  std::string output;
  bool force = false;
  bool json = false;
  bool quiet = false;
  Resources resources;
  format::onnx::ConvertOptions convert;
};

struct Totals {
  int64_t before = 0;
  int64_t after = 0;
};

Totals totals_of(const ConvertReport& report) {
  Totals t;
  for (const auto& f : report.folded) {
    t.before += f.bytes_before;
    t.after += f.bytes_after;
  }
  return t;
}

void print_text(const Options& o, const ConvertReport& r) {
  using enum Align;
  if (!r.folded.empty()) {
    Table table({{"became a constant"},
                 {"from"},
                 {"type"},
                 {"shape"},
                 {"granularity"},
                 {"bytes", right},
                 {"as float", right}});
    for (const auto& f : r.folded) {
      table.add({escaped(f.output), escaped(f.x),
                 fmt::format("{} -> {}", name(f.plan.input), name(f.plan.output)),
                 shape_text(f.shape), granularity_text(f.plan, f.axis),
                 fmt::format("{}", f.bytes_before), fmt::format("{}", f.bytes_after)});
    }
    fmt::print("{}\n", table.text());
  }
  if (!r.stripped.empty()) {
    Table table({{"taken out"}, {"operator"}, {"in its place"}});
    for (const auto& s : r.stripped) table.add({escaped(s.node), s.op_type, s.how});
    fmt::print("{}\n", table.text());
  }
  if (!r.left.empty()) {
    Table table({{"left as it was"}, {"operator"}, {"because"}});
    for (const auto& l : r.left) table.add({escaped(l.node), l.op_type, l.reason});
    fmt::print("{}\n", table.text());
  }
  const Totals t = totals_of(r);
  fmt::print(
      "{} DequantizeLinear folded ({} quantized, {} as float), {} nodes taken out, {} left\n",
      r.folded.size(), human_bytes(t.before), human_bytes(t.after), r.stripped.size(),
      r.left.size());
  const std::string data = r.data_file.empty() ? ""
                                               : fmt::format(" and {} ({})", escaped(r.data_file),
                                                             human_bytes(r.data_bytes));
  fmt::print("{} ({}) -> {} ({}){}{}\n", escaped(o.input), human_bytes(r.bytes_in),
             escaped(o.output), human_bytes(r.bytes_out), data,
             o.convert.dry_run ? ", not written (--dry-run)" : "");
}

void print_json(const Options& o, const ConvertReport& r) {
  ordered_json j{{"input", o.input}, {"output", o.output}, {"dry_run", o.convert.dry_run}};
  j["folded"] = ordered_json::array();
  for (const auto& f : r.folded) {
    j["folded"].push_back(
        {{"node", f.node},
         {"domain", f.domain},
         {"output", f.output},
         {"x", f.x},
         {"type", name(f.plan.input)},
         {"scale_type", name(f.plan.scale)},
         {"output_type", name(f.plan.output)},
         {"shape", f.shape},
         {"granularity", granularity_key(f.plan)},
         {"axis", f.axis ? ordered_json(*f.axis) : ordered_json()},
         {"block_size", f.plan.granularity == Granularity::blocked ? f.plan.block : 0},
         {"bytes", f.bytes_before},
         {"float_bytes", f.bytes_after}});
  }
  j["stripped"] = ordered_json::array();
  for (const auto& s : r.stripped) {
    j["stripped"].push_back({{"node", s.node}, {"op_type", s.op_type}, {"replaced_by", s.how}});
  }
  j["left"] = ordered_json::array();
  for (const auto& l : r.left) {
    j["left"].push_back({{"node", l.node},
                         {"op_type", l.op_type},
                         {"domain", l.domain},
                         {"output", l.output},
                         {"reason", l.reason}});
  }
  const Totals t = totals_of(r);
  j["totals"] = {{"folded", r.folded.size()},
                 {"stripped", r.stripped.size()},
                 {"left", r.left.size()},
                 {"removed_initializers", r.removed_initializers},
                 {"removed_nodes", r.removed_nodes},
                 {"quantized_bytes", t.before},
                 {"float_bytes", t.after},
                 {"model_bytes_in", r.bytes_in},
                 {"model_bytes_out", r.bytes_out},
                 {"data_file", r.data_file},
                 {"data_bytes", r.data_bytes}};
  j["seconds"] = {{"total", r.seconds.total}, {"decide", r.seconds.decide},
                  {"read", r.seconds.read},   {"dequantize", r.seconds.dequantize},
                  {"write", r.seconds.write}, {"flush", r.seconds.flush}};
  j["warnings"] = r.warnings;
  fmt::print("{}\n", j.dump(2, ' ', false, ordered_json::error_handler_t::replace));
}

int run(Options& o) {
  o.convert.overwrite = o.force ? format::Overwrite::replace : format::Overwrite::refuse;
  o.convert.stream = o.resources.stream_options();
  auto progress = std::make_unique<Progress>("writing");
  o.convert.progress = [&](int64_t done, int64_t total) { progress->update(done, total); };
  const auto result = format::onnx::convert(o.input, o.output, o.convert);
  progress.reset();
  if (!result) return report(result.error());
  for (const std::string& w : result->warnings) fmt::print(stderr, "dequant: warning: {}\n", w);
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
  c.add_option("MODEL", o->input, "ONNX model to read").required();
  c.add_option("-o,--output", o->output, "ONNX model to write").required();
  c.add_flag("--strip-qdq", o->convert.strip_qdq,
             "Also take QuantizeLinear and DequantizeLinear off activations, inputs and outputs");
  c.add_flag("--assume-const", o->convert.assume_const,
             "Take initializers that are graph inputs, and could be overridden, as constant");
  c.add_flag(
      "--external-data", o->convert.external_data,
      "Write float tensors of 1 KiB and more to a data file beside the model, whatever its size");
  c.add_option("--include", o->convert.include,
               "Only nodes whose name, output or x matches this glob")
      .type_name("GLOB")
      .one_value();
  c.add_option("--exclude", o->convert.exclude,
               "No nodes whose name, output or x matches this glob")
      .type_name("GLOB")
      .one_value();
  c.add_flag("-n,--dry-run", o->convert.dry_run, "Decide and report, but write nothing");
  c.add_flag("-f,--force", o->force, "Replace the output if it exists");
  c.add_flag("-q,--quiet", o->quiet, "Print nothing but errors and warnings");
  c.add_flag("--json", o->json, "Print the report as one JSON object");
  o->resources.add_to(c);
  c.footer(
      "Examples:\n"
      "  dequant convert quantized.onnx -o float.onnx\n"
      "  dequant convert quantized.onnx -o float.onnx --strip-qdq\n"
      "  dequant convert quantized.onnx -o float.onnx --include '*weight*' --dry-run\n"
      "\n"
      "A node that cannot be folded stays as it was and is listed with the reason; that is no "
      "error.");
  c.callback([o, &exit_code] { exit_code = run(*o); });
}

}  // namespace dequant::tools
