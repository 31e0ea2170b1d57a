// `dequant inspect`: what the quantized tensors of a model hold.
#include "format/onnx/inspect.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "format/io/errors.h"
#include "tools/commands.h"
#include "tools/common.h"
#include "tools/table.h"

namespace dequant::tools {
namespace {

using format::escaped;
using format::onnx::DequantizeInfo;
using format::onnx::Extent;
using format::onnx::InspectReport;
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

struct Totals {
  int64_t constant = 0;
  int64_t elements = 0;
  int64_t bytes = 0;
  int64_t float_bytes = 0;
};

Totals totals_of(const InspectReport& report) {
  Totals t;
  for (const DequantizeInfo& n : report.nodes) {
    if (!n.reason.empty()) continue;
    ++t.constant;
    t.elements += element_count(n.plan);
    t.bytes += n.bytes;
    t.float_bytes += n.float_bytes;
  }
  return t;
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
  Table open({{"output"}, {"x"}, {"not constant because"}});
  for (const DequantizeInfo& n : report.nodes) {
    const std::string output =
        n.graph.empty() ? escaped(n.output) : escaped(n.graph) + "/" + escaped(n.output);
    if (!n.reason.empty()) {
      open.add({output, escaped(n.x), n.reason});
      continue;
    }
    table.add({output, escaped(n.x),
               fmt::format("{} -> {}", name(n.plan.input), name(n.plan.output)),
               shape_text(n.shape), std::string(name(n.plan.scale)),
               granularity_text(n.plan, n.axis), range_text(n.scale), range_text(n.zero_point),
               range_text(n.value), fmt::format("{}", n.bytes), fmt::format("{}", n.float_bytes)});
  }
  if (!table.empty()) fmt::print("DequantizeLinear of constants\n{}\n", table.text());
  if (!open.empty()) fmt::print("Other DequantizeLinear\n{}\n", open.text());
  if (!report.others.empty()) {
    Table others({{"name"}, {"type"}, {"shape"}, {"bytes", right}});
    for (const auto& o : report.others) {
      others.add({escaped(o.name), std::string(name(o.element)), shape_text(o.shape),
                  fmt::format("{}", o.bytes)});
    }
    fmt::print("Quantized constants without a DequantizeLinear\n{}\n", others.text());
  }
  const Totals t = totals_of(report);
  fmt::print("{} DequantizeLinear, {} of constants: {} elements, {} now, {} as float\n",
             report.nodes.size(), t.constant, t.elements, human_bytes(t.bytes),
             human_bytes(t.float_bytes));
}

ordered_json node_json(const DequantizeInfo& n) {
  ordered_json j{{"node", n.node},     {"domain", n.domain}, {"graph", n.graph},
                 {"output", n.output}, {"x", n.x},           {"constant", n.reason.empty()},
                 {"reason", n.reason}};
  if (!n.reason.empty()) return j;
  j["type"] = name(n.plan.input);
  j["scale_type"] = name(n.plan.scale);
  j["output_type"] = name(n.plan.output);
  j["shape"] = n.shape;
  j["granularity"] = granularity_key(n.plan);
  j["axis"] = n.axis ? ordered_json(*n.axis) : ordered_json();
  j["block_size"] = n.plan.granularity == Granularity::blocked ? n.plan.block : 0;
  j["scale_count"] = scale_count(n.plan);
  j["scale"] = range_json(n.scale);
  j["zero_point"] = range_json(n.zero_point);
  j["values"] = range_json(n.value);
  j["bytes"] = n.bytes;
  j["float_bytes"] = n.float_bytes;
  return j;
}

void print_json(const InspectReport& report) {
  ordered_json j;
  j["ir_version"] = report.ir_version;
  j["opset"] = report.opsets.onnx ? ordered_json(*report.opsets.onnx) : ordered_json();
  j["nodes"] = ordered_json::array();
  for (const auto& n : report.nodes) j["nodes"].push_back(node_json(n));
  j["other_constants"] = ordered_json::array();
  for (const auto& o : report.others) {
    j["other_constants"].push_back(
        {{"name", o.name}, {"type", name(o.element)}, {"shape", o.shape}, {"bytes", o.bytes}});
  }
  const Totals t = totals_of(report);
  j["totals"] = {{"nodes", report.nodes.size()},
                 {"constant", t.constant},
                 {"elements", t.elements},
                 {"bytes", t.bytes},
                 {"float_bytes", t.float_bytes}};
  fmt::print("{}\n", j.dump(2, ' ', false, ordered_json::error_handler_t::replace));
}

}  // namespace

void add_inspect(const Command& app, int& exit_code) {
  struct Options {
    std::string model;
    bool json = false;
    Resources resources;
  };
  auto o = std::make_shared<Options>();
  const Command command =
      app.add_subcommand("inspect", "Show what the quantized tensors of a model hold");
  command.add_option("MODEL", o->model, "ONNX model").required();
  command.add_flag("--json", o->json, "Print one JSON object instead of tables");
  o->resources.add_to(command);
  command.footer(
      "Examples:\n"
      "  dequant inspect model.onnx\n"
      "  dequant inspect model.onnx --json | jq '.nodes[] | select(.scale.min == 0).output'");
  command.callback([o, &exit_code] {
    const auto report = format::onnx::inspect(o->model, o->resources.stream_options());
    if (!report) {
      exit_code = tools::report(report.error());
    } else if (o->json) {
      print_json(*report);
    } else {
      print_text(*report);
    }
  });
}

}  // namespace dequant::tools
