// The JSON object of `dequant inspect`, printed as it is found: a document in memory takes a KiB a node.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tools/inspect_sinks.h"

namespace dequant::tools {
namespace {

using format::onnx::DequantizeInfo;
using format::onnx::Extent;
using format::onnx::granularity_key;
using format::onnx::InspectHead;
using format::onnx::InspectTotals;
using format::onnx::OtherConstant;
using format::onnx::Parameters;
using format::onnx::Reader;
using format::onnx::Readers;
using nlohmann::ordered_json;

/// JSON text whose lines but the first are moved in by so many spaces.
std::string text(const ordered_json& j, size_t indent) {
  const std::string all = j.dump(2, ' ', false, ordered_json::error_handler_t::replace);
  std::string out;
  for (const char c : all) {
    out += c;
    if (c == '\n') out.append(indent, ' ');  // newlines within strings are escaped
  }
  return out;
}

/// What stands before the next entry of an array.
const char* before(bool& first) { return std::exchange(first, false) ? "\n" : ",\n"; }

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

}  // namespace

Status InspectJson::begin(const InspectHead& head) {
  ordered_json j = ordered_json::object();
  j["ir_version"] = head.ir_version;
  j["opset"] = head.opsets.onnx ? ordered_json(*head.opsets.onnx) : ordered_json();
  j["opsets"] = opsets_json(head.opsets);
  std::string open = text(j, 0);
  open.erase(open.rfind("\n}"));
  fmt::print("{},\n  \"nodes\": [", open);
  return {};
}

Status InspectJson::node(const DequantizeInfo& node) {
  fmt::print("{}    {}", before(first_), text(node_json(node), 4));
  return {};
}

void InspectJson::end_nodes() {
  if (in_others_) return;
  fmt::print("{}],\n  \"other_constants\": [", first_ ? "" : "\n  ");
  in_others_ = first_ = true;
}

Status InspectJson::other(const OtherConstant& o, const Readers& readers) {
  end_nodes();
  std::string open = text({{"name", o.name},
                           {"type", name(o.element)},
                           {"shape", o.shape},
                           {"bytes", o.bytes},
                           {"graph", o.graph}},
                          4);
  open.erase(open.rfind("\n    }"));
  fmt::print("{}    {},\n      \"read_by\": [", before(first_), open);
  bool first = true;
  readers.for_each([&](const Reader& r) {
    const ordered_json j{{"node", r.node.label()},
                         {"op_type", std::string_view(r.node.op_type())},
                         {"domain", std::string_view(r.node.domain())},
                         {"input", r.input}};
    fmt::print("{}        {}", before(first), text(j, 8));
  });
  fmt::print("{}]\n    }}", first ? "" : "\n      ");
  return {};
}

void InspectJson::end(const InspectTotals& t) {
  end_nodes();
  const ordered_json totals{{"nodes", t.nodes},
                            {"constant", t.constant},
                            {"elements", t.elements},
                            {"bytes", t.bytes},
                            {"float_bytes", t.float_bytes}};
  fmt::print("{}],\n  \"totals\": {}\n}}\n", first_ ? "" : "\n  ", text(totals, 2));
}

}  // namespace dequant::tools
