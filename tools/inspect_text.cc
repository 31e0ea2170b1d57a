// The tables of `dequant inspect`.
#include <fmt/format.h>

#include <cmath>

#include "format/io/errors.h"
#include "format/model/plan_words.h"
#include "tools/inspect_sinks.h"

namespace dequant::tools {
namespace {

using format::escaped;
using format::Extent;
using format::InspectTotals;
using format::OtherTensor;
using format::Parameters;
using format::TensorInfo;
using format::TensorReaderFacts;

/// Readers of a constant that are listed by name.
constexpr int64_t kMostReaders = 3;

/// Six digits, of integers all: zero points of int32 have up to ten.
std::string number_text(double number) {
  constexpr double kExact = 1e10;
  const bool is_integer = number == std::trunc(number) && std::abs(number) < kExact;
  return is_integer ? fmt::format("{:.0f}", number) : fmt::format("{:.6g}", number);
}

std::string range_text(const Extent& e) {
  if (e.numbers == 0) return e.nans == 0 ? "-" : "nan";
  std::string text = number_text(e.least);
  if (e.least != e.greatest) text += " .. " + number_text(e.greatest);
  if (e.nans != 0) text += fmt::format(" and {} nan", e.nans);
  return text;
}

std::string scales_text(const TensorInfo& n) {
  const Extent& second = n.tensor_scale.extent;
  std::string text = range_text(n.scale.extent);
  if (second.numbers + second.nans != 0) text += ", of the tensor " + range_text(second);
  return text;
}

std::string name_in(std::string_view graph, std::string_view name) {
  return graph.empty() ? escaped(name) : escaped(graph) + "/" + escaped(name);
}

void print(const char* title, const Table& table) {
  if (table.empty()) return;
  fmt::print("{}\n", title);
  table.for_each_line([](std::string_view line) { fmt::print("{}", line); });
  fmt::print("\n");
}

}  // namespace

std::string readers_text(const OtherTensor& tensor) {
  std::string text;
  int64_t count = 0;
  tensor.visit_readers([&](const TensorReaderFacts& r) {
    if (++count > kMostReaders) return;
    text += fmt::format("{}{} {} (input {})", text.empty() ? "" : ", ", escaped(r.op_type),
                        escaped(r.node), r.input);
  });
  if (count > kMostReaders) text += fmt::format(" and {} more", count - kMostReaders);
  return count == 0 ? "-" : text;
}

Status InspectText::tensor(const TensorInfo& n) {
  const std::string tensor = name_in(n.graph, n.name);
  if (!n.reason.empty()) {
    const Parameters p = n.parameters.value_or(Parameters{});
    left_.add({tensor, escaped(n.source), p.type ? std::string(name(*p.type)) : "-",
               range_text(p.scale), range_text(p.zero_point), range_text(p.covered), n.reason});
    return {};
  }
  dense_.add(
      {tensor, escaped(n.source),
       fmt::format("{} -> {}", format::codes_text(n.plan), name(n.plan.output)),
       shape_text(n.shape),
       n.plan.parameters.x_blocks || n.codes_are_values ? "-" : std::string(name(n.plan.scale)),
       n.granularity(), scales_text(n), range_text(n.zero_point),
       range_text(n.profile.values.extent), fmt::format("{}", n.bytes),
       fmt::format("{}", n.float_bytes)});
  return {};
}

Status InspectText::other(const OtherTensor& o) {
  const TensorType& type = o.stored.type;
  others_.add({name_in(o.graph, o.name), std::string(name(type.element)), shape_text(type.shape),
               fmt::format("{}", o.stored.bytes), readers_text(o)});
  return {};
}

void InspectText::end(const InspectTotals& t) const {
  print(words_.dense_title, dense_);
  print(words_.left_title, left_);
  print(words_.others_title, others_);
  fmt::print("{} {}, {} {}: {} elements, {} now, {} as float\n", t.all, words_.all, t.dense,
             words_.dense, t.elements, human_bytes(t.bytes), human_bytes(t.float_bytes));
}

}  // namespace dequant::tools
