// The report of a conversion as JSON.
#include "format/model/report_json.h"

#include <nlohmann/json.hpp>

#include "format/model/plan_words.h"

namespace dequant::format {
namespace {

using nlohmann::ordered_json;

ordered_json converted(const ConvertReport& report) {
  const Words& words = report.words;
  ordered_json list = ordered_json::array();
  for (const Converted& c : report.converted) {
    ordered_json j = ordered_json::object();
    if (words.has_graph) j["node"] = c.node;
    j[words.scheme_key] = c.scheme;
    j[words.name_key] = c.name;
    if (words.has_graph) j["constant"] = c.constant;
    j[words.source_key] = c.source;
    j["type"] = codes_text(c.plan);
    const bool blocks = c.plan.parameters.x_blocks.has_value();  // which have their scales
    j["scale_type"] = blocks ? ordered_json() : ordered_json(name(c.plan.scale));
    j["output_type"] = name(c.plan.output);
    j["shape"] = c.shape;
    j["granularity"] = granularity_key(c.plan);
    j["granularity_text"] = granularity_text(c.plan, c.axis, c.shape);
    j["axis"] = c.axis ? ordered_json(*c.axis) : ordered_json();
    j["block_size"] = block_size(c.plan);
    j["bytes"] = c.bytes_before;
    j["float_bytes"] = c.bytes_after;
    if (c.nan_scales > 0) j["nan_scales"] = c.nan_scales;
    if (c.infinite_scales > 0) j["infinite_scales"] = c.infinite_scales;
    list.push_back(std::move(j));
  }
  return list;
}

ordered_json stripped(const ConvertReport& report) {
  ordered_json list = ordered_json::array();
  for (const Stripped& s : report.stripped) {
    list.push_back({{"node", s.node}, {"op_type", s.op_type}, {"replaced_by", s.how}});
  }
  return list;
}

/// A number where there is one, a list where there are several.
ordered_json numbers(const Listed& listed) {
  if (!listed.known) return {};
  if (listed.numbers.size() == 1) return listed.numbers[0];
  return listed.numbers;
}

ordered_json changed(const std::vector<ChangedValue>& values) {
  ordered_json list = ordered_json::array();
  for (const ChangedValue& c : values) {
    list.push_back({{"name", c.name},
                    {"old_type", name(c.from)},
                    {"new_type", name(c.to)},
                    {"scale", numbers(c.scale)},
                    {"zero_point", numbers(c.zero_point)},
                    {"axis", c.axis ? ordered_json(*c.axis) : ordered_json()}});
  }
  return list;
}

ordered_json left(const ConvertReport& report) {
  const Words& words = report.words;
  ordered_json list = ordered_json::array();
  for (const Left& l : report.left) {
    ordered_json j = ordered_json::object();
    if (words.has_graph) {
      j["node"] = l.node;
      j["op_type"] = l.op_type;
    }
    j[words.scheme_key] = l.scheme;
    j[words.name_key] = l.name;
    j["reason"] = l.reason;
    list.push_back(std::move(j));
  }
  return list;
}

ordered_json totals(const ConvertReport& report) {
  const ConvertedBytes bytes = converted_bytes(report);
  const bool graph = report.words.has_graph;
  ordered_json j = ordered_json::object();
  j[report.words.converted_key] = report.converted.size();
  if (graph) j["stripped"] = report.stripped.size();
  j["left"] = report.left.size();
  if (graph) {
    j["removed_initializers"] = report.removed_initializers;
    j["removed_nodes"] = report.removed_nodes;
  }
  j["quantized_bytes"] = bytes.before;
  j["float_bytes"] = bytes.after;
  j["model_bytes_in"] = report.bytes_in;
  j["model_bytes_out"] = report.bytes_out;
  j["data_file"] = report.data_file;
  j["data_bytes"] = report.data_bytes;
  return j;
}

}  // namespace

ordered_json to_json(const std::vector<Leftover>& cleaned) {
  ordered_json list = ordered_json::array();
  for (const Leftover& l : cleaned) list.push_back({{"file", l.name}, {"bytes", l.bytes}});
  return list;
}

ordered_json to_json(const Seconds& s) {
  return {{"total", s.total},           {"decide", s.decide}, {"read", s.read},
          {"dequantize", s.dequantize}, {"write", s.write},   {"flush", s.flush}};
}

ordered_json to_json(const TaskReport& task) {
  using enum TaskReport::State;
  ordered_json j{{"task", task.number},
                 {"file", task.file},
                 {"begin", task.bytes.begin},
                 {"end", task.bytes.end}};
  if (task.state == planned) {
    j["reads"] = ordered_json::array();
    for (const ReadRange& r : task.reads)
      j["reads"].push_back({r.file, r.bytes.begin, r.bytes.end});
  } else {
    j["state"] = task.state == done ? "done" : task.state == found ? "found" : "missing";
    if (!task.reason.empty()) j["reason"] = task.reason;
  }
  return j;
}

ordered_json to_json(const ShareReport& share) {
  ordered_json tasks = ordered_json::array();
  for (const TaskReport& task : share.tasks) tasks.push_back(to_json(task));
  return {{"fingerprint", share.fingerprint},
          {"folder", share.folder},
          {"count", share.count},
          {"complete", share.complete},
          {"tasks", std::move(tasks)}};
}

ordered_json to_json(const ConvertReport& report) {
  ordered_json j = ordered_json::object();
  j[report.words.converted_key] = converted(report);
  if (report.words.has_graph) {
    j["stripped"] = stripped(report);
    j["inputs_changed"] = changed(report.inputs_changed);
    j["outputs_changed"] = changed(report.outputs_changed);
  }
  j["left"] = left(report);
  if (!report.words.has_graph) {
    j["dropped"] = ordered_json::array();
    for (const DroppedTensor& d : report.dropped)
      j["dropped"].push_back({{report.words.name_key, d.name}, {"reason", d.reason}});
    j["files_copied"] = report.files_copied;
    j["files_left_out"] = report.files_left_out;
  }
  j["totals"] = totals(report);
  j["seconds"] = to_json(report.seconds);
  if (report.share) j["share"] = to_json(*report.share);
  j["cleaned"] = to_json(report.cleaned);
  j["warnings"] = report.warnings;
  return j;
}

std::string json_text(const ConvertReport& report, int indent) {
  return to_json(report).dump(indent, ' ', false, ordered_json::error_handler_t::replace);
}

ConvertedBytes converted_bytes(const ConvertReport& report) {
  ConvertedBytes bytes;
  for (const Converted& c : report.converted) {
    bytes.before += c.bytes_first;
    bytes.after += c.bytes_after;
  }
  return bytes;
}

}  // namespace dequant::format
