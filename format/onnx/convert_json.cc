// What a conversion reports, as JSON.
#include "format/onnx/convert_json.h"

namespace dequant::format::onnx {
namespace {

using nlohmann::ordered_json;

ordered_json folded(const ConvertReport& report) {
  ordered_json list = ordered_json::array();
  for (const Folded& f : report.folded) {
    list.push_back({{"node", f.node},
                    {"domain", f.domain},
                    {"output", f.output},
                    {"x", f.x},
                    {"type", name(f.plan.input)},
                    {"scale_type", name(f.plan.scale)},
                    {"output_type", name(f.plan.output)},
                    {"shape", f.shape},
                    {"granularity", granularity_key(f.plan)},
                    {"axis", f.axis ? ordered_json(*f.axis) : ordered_json()},
                    {"block_size", block_size(f.plan)},
                    {"bytes", f.bytes_before},
                    {"float_bytes", f.bytes_after}});
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

/// One number alone, several as a list.
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
  ordered_json list = ordered_json::array();
  for (const Left& l : report.left) {
    list.push_back({{"node", l.node},
                    {"op_type", l.op_type},
                    {"domain", l.domain},
                    {"output", l.output},
                    {"reason", l.reason}});
  }
  return list;
}

ordered_json totals(const ConvertReport& report) {
  const FoldedBytes bytes = folded_bytes(report);
  return {{"folded", report.folded.size()},
          {"stripped", report.stripped.size()},
          {"left", report.left.size()},
          {"removed_initializers", report.removed_initializers},
          {"removed_nodes", report.removed_nodes},
          {"quantized_bytes", bytes.before},
          {"float_bytes", bytes.after},
          {"model_bytes_in", report.bytes_in},
          {"model_bytes_out", report.bytes_out},
          {"data_file", report.data_file},
          {"data_bytes", report.data_bytes}};
}

}  // namespace

ordered_json to_json(const std::vector<Leftover>& cleaned) {
  ordered_json list = ordered_json::array();
  for (const Leftover& l : cleaned) list.push_back({{"file", l.name}, {"bytes", l.bytes}});
  return list;
}

ordered_json to_json(const ConvertReport& report) {
  const Seconds& s = report.seconds;
  return {{"folded", folded(report)},
          {"stripped", stripped(report)},
          {"inputs_changed", changed(report.inputs_changed)},
          {"outputs_changed", changed(report.outputs_changed)},
          {"left", left(report)},
          {"totals", totals(report)},
          {"seconds",
           {{"total", s.total},
            {"decide", s.decide},
            {"read", s.read},
            {"dequantize", s.dequantize},
            {"write", s.write},
            {"flush", s.flush}}},
          {"cleaned", to_json(report.cleaned)},
          {"warnings", report.warnings}};
}

}  // namespace dequant::format::onnx
