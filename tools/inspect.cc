// `dequant inspect`: what the quantized tensors of a model hold.
#include "format/onnx/inspect.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "format/io/errors.h"
#include "tools/commands.h"
#include "tools/common.h"
#include "tools/files.h"
#include "tools/inspect_page.h"
#include "tools/inspect_totals.h"
#include "tools/memory.h"
#include "tools/table.h"

namespace dequant::tools {
namespace {

using format::escaped;
using format::onnx::DequantizeInfo;
using format::onnx::Extent;
using format::onnx::InspectReport;
using format::onnx::Parameters;
using nlohmann::ordered_json;

std::string range_text(const Extent& e) {
  if (e.numbers == 0) return e.nans == 0 ? "-" : "nan";
  std::string text = e.least == e.greatest ? fmt::format("{:.6g}", e.least)
                                           : fmt::format("{:.6g} .. {:.6g}", e.least, e.greatest);
  if (e.nans != 0) text += fmt::format(" and {} nan", e.nans);
  return text;
}

/// JSON has no infinity: such a bound is given as text.
ordered_json number(double value) {
  if (std::isfinite(value)) return value;
  return value > 0 ? "inf" : "-inf";
}

ordered_json range_json(const Extent& e) {
  if (e.numbers == 0 && e.nans == 0) return nullptr;
  ordered_json j{{"min", nullptr}, {"max", nullptr}, {"nan", e.nans}};
  if (e.numbers != 0) {
    j["min"] = number(e.least);
    j["max"] = number(e.greatest);
  }
  return j;
}

std::string name_in(const std::string& graph, const std::string& name) {
  return graph.empty() ? escaped(name) : escaped(graph) + "/" + escaped(name);
}

void print_text(const InspectReport& report) {
  using enum Align;
  Table table({{"output"},
               {"x"},
               {"type"},
               {"shape"},
               {"scale"},
               {"granularity"},
               {"scales"},
               {"zero points"},
               {"values"},
               {"bytes", right},
               {"as float", right}});
  Table open({{"output"},
              {"x"},
              {"type"},
              {"scales"},
              {"zero points"},
              {"covers"},
              {"not constant because"}});
  for (const DequantizeInfo& n : report.nodes) {
    const std::string output = name_in(n.graph, n.output);
    if (!n.reason.empty()) {
      const Parameters p = n.parameters.value_or(Parameters{});
      open.add({output, escaped(n.x), p.type ? std::string(name(*p.type)) : "-",
                range_text(p.scale), range_text(p.zero_point), range_text(p.covered), n.reason});
      continue;
    }
    table.add(
        {output, escaped(n.x), fmt::format("{} -> {}", name(n.plan.input), name(n.plan.output)),
         shape_text(n.shape), std::string(name(n.plan.scale)), granularity_text(n.plan, n.axis),
         range_text(n.scale.extent), range_text(n.zero_point), range_text(n.profile.values.extent),
         fmt::format("{}", n.bytes), fmt::format("{}", n.float_bytes)});
  }
  if (!table.empty()) fmt::print("DequantizeLinear of constants\n{}\n", table.text());
  if (!open.empty()) fmt::print("Other DequantizeLinear\n{}\n", open.text());
  if (!report.others.empty()) {
    Table others({{"name"}, {"type"}, {"shape"}, {"bytes", right}});
    for (const auto& o : report.others) {
      others.add({name_in(o.graph, o.name), std::string(name(o.element)), shape_text(o.shape),
                  fmt::format("{}", o.bytes)});
    }
    fmt::print("Quantized constants without a DequantizeLinear\n{}\n", others.text());
  }
  const Totals t = totals_of(report);
  fmt::print("{} DequantizeLinear, {} of constants: {} elements, {} now, {} as float\n",
             report.nodes.size(), t.constant, t.elements, human_bytes(t.bytes),
             human_bytes(t.float_bytes));
}

void add_parameters(const Parameters& p, ordered_json& j) {
  j["type"] = p.type ? ordered_json(name(*p.type)) : ordered_json();
  j["scale_type"] = name(p.scale_type);
  j["scale_count"] = p.scale_count;
  j["scale"] = range_json(p.scale);
  j["zero_point"] = range_json(p.zero_point);
  j["covered"] = range_json(p.covered);
}

ordered_json node_json(const DequantizeInfo& n) {
  ordered_json j{{"node", n.node},     {"domain", n.domain}, {"graph", n.graph},
                 {"output", n.output}, {"x", n.x},           {"constant", n.reason.empty()},
                 {"reason", n.reason}};
  if (n.parameters) add_parameters(*n.parameters, j);
  if (!n.reason.empty()) return j;
  j["type"] = name(n.plan.input);
  j["scale_type"] = name(n.plan.scale);
  j["output_type"] = name(n.plan.output);
  j["shape"] = n.shape;
  j["granularity"] = granularity_key(n.plan);
  j["axis"] = n.axis ? ordered_json(*n.axis) : ordered_json();
  j["block_size"] = n.plan.granularity == Granularity::blocked ? n.plan.block : 0;
  j["scale_count"] = scale_count(n.plan);
  j["scale"] = range_json(n.scale.extent);
  j["zero_point"] = range_json(n.zero_point);
  j["values"] = range_json(n.profile.values.extent);
  j["bytes"] = n.bytes;
  j["float_bytes"] = n.float_bytes;
  return j;
}

ordered_json opsets_json(const format::onnx::Opsets& opsets) {
  ordered_json j = ordered_json::object();
  if (opsets.onnx) j["ai.onnx"] = *opsets.onnx;
  if (opsets.microsoft) j["com.microsoft"] = *opsets.microsoft;
  return j;
}

void print_json(const InspectReport& report) {
  ordered_json j = ordered_json::object();
  j["ir_version"] = report.ir_version;
  j["opset"] = report.opsets.onnx ? ordered_json(*report.opsets.onnx) : ordered_json();
  j["opsets"] = opsets_json(report.opsets);
  j["nodes"] = ordered_json::array();
  for (const auto& n : report.nodes) j["nodes"].push_back(node_json(n));
  j["other_constants"] = ordered_json::array();
  for (const auto& o : report.others) {
    j["other_constants"].push_back({{"name", o.name},
                                    {"type", name(o.element)},
                                    {"shape", o.shape},
                                    {"bytes", o.bytes},
                                    {"graph", o.graph}});
  }
  const Totals t = totals_of(report);
  j["totals"] = {{"nodes", report.nodes.size()},
                 {"constant", t.constant},
                 {"elements", t.elements},
                 {"bytes", t.bytes},
                 {"float_bytes", t.float_bytes}};
  fmt::print("{}\n", j.dump(2, ' ', false, ordered_json::error_handler_t::replace));
}

struct Options {
  std::string model;
  std::optional<std::string> page;
  bool json = false;
  bool force = false;
  bool no_checksum = false;
  Resources resources;
};

Status run(Options& o) {
  at_work_on(o.model);
  format::onnx::InspectOptions options{o.resources.stream_options()};
  if (o.no_checksum) options.checksums = format::onnx::Checksums::skip;
  std::optional<format::OutputFile> page;
  if (o.page) {
    const auto overwrite = o.force ? format::Overwrite::replace : format::Overwrite::refuse;
    DEQUANT_TRY(format::OutputFile file, format::OutputFile::create(*o.page, overwrite));
    page.emplace(std::move(file));
    options.output = *o.page;
    options.profiles = kMostRows;
  }
  auto progress = std::make_unique<Progress>("reading");
  options.progress = [&](int64_t done, int64_t total) { progress->update(done, total); };
  DEQUANT_TRY(const InspectReport report, format::onnx::inspect(o.model, options));
  progress.reset();
  if (page) {
    DEQUANT_CHECK(write_page(*page, o.model, report));
    DEQUANT_CHECK(page->commit());
  }
  if (o.json) {
    print_json(report);
  } else if (!page) {
    print_text(report);
  }
  return {};
}

}  // namespace

void add_inspect(const Command& app, int& exit_code) {
  auto o = std::make_shared<Options>();
  const Command command =
      app.add_subcommand("inspect", "Show what the quantized tensors of a model hold");
  command.add_option("MODEL", o->model, "ONNX model").required();
  command.add_flag("--json", o->json, "Print one JSON object instead of tables");
  command
      .add_option("--html", o->page,
                  "Write a page with histograms instead of printing tables; any browser shows it")
      .type_name("FILE")
      .check(not_standard_output);
  command.add_flag("-f,--force", o->force, "Replace the page if it exists")
      .needs(command.get_option("--html"));
  command.add_flag("--no-checksum", o->no_checksum,
                   "Do not hold external data against the checksums that tensors name");
  o->resources.add_to(command);
  command.footer(
      "Examples:\n"
      "  dequant inspect model.onnx\n"
      "  dequant inspect model.onnx --html model.html\n"
      "  dequant inspect model.onnx --json | jq '.nodes[] | select(.scale.min == 0).output'");
  command.callback([o, &exit_code] {
    if (const Status status = run(*o); !status) exit_code = tools::report(status.error());
  });
}

}  // namespace dequant::tools
