// The tables of `dequant inspect`.
#include <fmt/format.h>

#include "format/io/errors.h"
#include "tools/common.h"
#include "tools/inspect_sinks.h"

namespace dequant::tools {
namespace {

using format::escaped;
using format::onnx::DequantizeInfo;
using format::onnx::Extent;
using format::onnx::InspectTotals;
using format::onnx::OtherConstant;
using format::onnx::Parameters;
using format::onnx::Reader;
using format::onnx::Readers;

/// Readers of a constant that are named.
constexpr int64_t kMostReaders = 3;

std::string range_text(const Extent& e) {
  if (e.numbers == 0) return e.nans == 0 ? "-" : "nan";
  std::string text = e.least == e.greatest ? fmt::format("{:.6g}", e.least)
                                           : fmt::format("{:.6g} .. {:.6g}", e.least, e.greatest);
  if (e.nans != 0) text += fmt::format(" and {} nan", e.nans);
  return text;
}

std::string name_in(const std::string& graph, const std::string& name) {
  return graph.empty() ? escaped(name) : escaped(graph) + "/" + escaped(name);
}

void print(const char* title, const Table& table) {
  if (table.empty()) return;
  fmt::print("{}\n", title);
  table.for_each_line([](std::string_view line) { fmt::print("{}", line); });
  fmt::print("\n");
}

}  // namespace

std::string readers_text(const Readers& readers) {
  std::string text;
  int64_t count = 0;
  readers.for_each([&](const Reader& r) {
    if (++count > kMostReaders) return;
    text += fmt::format("{}{} {} (input {})", text.empty() ? "" : ", ", escaped(r.node.op_type()),
                        escaped(r.node.label()), r.input);
  });
  if (count > kMostReaders) text += fmt::format(" and {} more", count - kMostReaders);
  return count == 0 ? "-" : text;
}

Status InspectText::node(const DequantizeInfo& n) {
  const std::string output = name_in(n.graph, n.output);
  if (!n.reason.empty()) {
    const Parameters p = n.parameters.value_or(Parameters{});
    open_.add({output, escaped(n.x), p.type ? std::string(name(*p.type)) : "-", range_text(p.scale),
               range_text(p.zero_point), range_text(p.covered), n.reason});
    return {};
  }
  constant_.add(
      {output, escaped(n.x), fmt::format("{} -> {}", name(n.plan.input), name(n.plan.output)),
       shape_text(n.shape), std::string(name(n.plan.scale)), granularity_text(n.plan, n.axis),
       range_text(n.scale.extent), range_text(n.zero_point), range_text(n.profile.values.extent),
       fmt::format("{}", n.bytes), fmt::format("{}", n.float_bytes)});
  return {};
}

Status InspectText::other(const OtherConstant& o, const Readers& readers) {
  others_.add({name_in(o.graph, o.name), std::string(name(o.element)), shape_text(o.shape),
               fmt::format("{}", o.bytes), readers_text(readers)});
  return {};
}

void InspectText::end(const InspectTotals& t) const {
  print("DequantizeLinear of constants", constant_);
  print("Other DequantizeLinear", open_);
  print("Quantized constants without a DequantizeLinear", others_);
  fmt::print("{} DequantizeLinear, {} of constants: {} elements, {} now, {} as float\n", t.nodes,
             t.constant, t.elements, human_bytes(t.bytes), human_bytes(t.float_bytes));
}

}  // namespace dequant::tools
