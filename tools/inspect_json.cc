// The JSON object of `dequant inspect`. Each entry is printed when its tensor is found, since a
// document in memory needs about 1 KiB for each node.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "format/model/plan_words.h"
#include "tools/inspect_sinks.h"
#include "tools/json_text.h"

namespace dequant::tools {
namespace {

using format::Extent;
using format::InspectTotals;
using format::OtherTensor;
using format::Parameters;
using format::TensorInfo;
using format::TensorReaderFacts;
using format::Words;
using nlohmann::ordered_json;

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

ordered_json tensor_json(const TensorInfo& n, const Words& words) {
  ordered_json j = ordered_json::object();
  if (words.has_graph) {
    j["node"] = n.node;
    j["op_type"] = n.op_type;
  }
  j[words.scheme_key] = n.scheme;
  if (words.has_graph) j["graph"] = n.graph;
  j[words.name_key] = n.name;
  j[words.source_key] = n.source;
  j[words.dense_key] = n.reason.empty();
  j["reason"] = n.reason;
  if (n.parameters) add_parameters(*n.parameters, j);
  if (!n.reason.empty()) return j;
  j["type"] = format::codes_text(n.plan);
  const bool blocks = n.plan.parameters.x_blocks.has_value();  // which have their scales
  j["scale_type"] =
      blocks || n.codes_are_values ? ordered_json() : ordered_json(name(n.plan.scale));
  j["output_type"] = name(n.plan.output);
  j["shape"] = n.shape;
  j["granularity"] = format::granularity_key(n.plan);
  j["granularity_text"] = n.granularity();
  j["axis"] = n.axis ? ordered_json(*n.axis) : ordered_json();
  j["block_size"] = format::block_size(n.plan);
  j["scale_count"] = n.scale.count();
  j["scale"] = range_json(n.scale.extent);
  j["tensor_scale"] = range_json(n.tensor_scale.extent);
  j["zero_point"] = range_json(n.zero_point);
  j["values"] = range_json(n.profile.values.extent);
  j["bytes"] = n.bytes;
  j["float_bytes"] = n.float_bytes;
  return j;
}

}  // namespace

Status InspectJson::begin() {
  std::string open = json_text(file_.facts(), 0);
  open.erase(open.rfind("\n}"));
  fmt::print("{},\n  \"{}\": [", open, words_.tensors_key);
  return {};
}

Status InspectJson::tensor(const TensorInfo& tensor) {
  fmt::print("{}    {}", before_entry(first_), json_text(tensor_json(tensor, words_), 4));
  return {};
}

void InspectJson::end_tensors() {
  if (in_others_) return;
  fmt::print("{}],\n  \"{}\": [", first_ ? "" : "\n  ", words_.others_key);
  in_others_ = first_ = true;
}

Status InspectJson::other(const OtherTensor& o) {
  end_tensors();
  const Shape shape = o.stored.type.shape;
  ordered_json j{{"name", o.name},
                 {"type", name(o.stored.type.element)},
                 {"shape", std::vector<int64_t>(shape.begin(), shape.end())},
                 {"bytes", o.stored.bytes}};
  if (words_.has_graph) j["graph"] = o.graph;
  std::string open = json_text(j, 4);
  open.erase(open.rfind("\n    }"));
  fmt::print("{}    {},\n      \"read_by\": [", before_entry(first_), open);
  bool first = true;
  o.visit_readers([&](const TensorReaderFacts& r) {
    const ordered_json reader{
        {"node", r.node}, {"op_type", r.op_type}, {"domain", r.domain}, {"input", r.input}};
    fmt::print("{}        {}", before_entry(first), json_text(reader, 8));
  });
  fmt::print("{}]\n    }}", first ? "" : "\n      ");
  return {};
}

void InspectJson::end(const InspectTotals& t) {
  end_tensors();
  const ordered_json totals{{words_.tensors_key, t.all},
                            {words_.dense_key, t.dense},
                            {"elements", t.elements},
                            {"bytes", t.bytes},
                            {"float_bytes", t.float_bytes}};
  fmt::print("{}],\n  \"totals\": {}\n}}\n", first_ ? "" : "\n  ", json_text(totals, 2));
}

}  // namespace dequant::tools
