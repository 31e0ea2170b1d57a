// The report of `dequant diff` as text.
#include <fmt/format.h>

#include <algorithm>

#include "format/io/errors.h"
#include "tools/diff_report.h"
#include "tools/table.h"

namespace dequant::tools {
namespace {

using format::Difference;
using format::escaped;
using format::TensorDifference;

std::string types_text(const Difference& d) {
  if (d.a_type == d.b_type) return std::string(name(d.a_type));
  return fmt::format("{}, {}", name(d.a_type), name(d.b_type));
}

/// The name of a tensor, or both names where they differ.
std::string names_text(const std::string& a, const std::string& b) {
  return a == b ? escaped(a) : fmt::format("{} = {}", escaped(a), escaped(b));
}

void print_tensors(const DiffReport& report) {
  using enum Align;
  std::vector<Table::Column> columns{{"tensor"},
                                     {"type"},
                                     {"shape"},
                                     {"differ", right},
                                     {"max error", right},
                                     {"RMS error", right},
                                     {"SQNR dB", right},
                                     {"max ULP", right},
                                     {"mismatches", right}};
  const bool limited = report.limits.given();
  if (limited) columns.push_back({"limits"});
  columns.push_back({"worst at"});
  Table table(std::move(columns));
  for (const TensorDifference& t : report.difference.tensors) {
    const Difference& d = t.difference;
    if (d.exact()) continue;
    const std::string worst =
        d.worst
            ? fmt::format("{}: {:.9g}, {:.9g}", shape_text(d.worst->index), d.worst->a, d.worst->b)
            : "";
    std::vector<std::string> row{names_text(t.name, t.name_in_b),
                                 types_text(d),
                                 shape_text(d.shape),
                                 fmt::format("{}", d.size - d.identical),
                                 fmt::format("{:.4g}", d.max_abs),
                                 fmt::format("{:.4g}", d.rmse),
                                 fmt::format("{:.2f}", d.sqnr_db),
                                 fmt::format("{:.0f}", d.max_ulp),
                                 fmt::format("{}", d.mismatches())};
    if (limited) row.push_back(within(report.limits, d) ? "within" : "beyond");
    row.push_back(worst);
    table.add(row);
  }
  if (!table.empty()) fmt::print("{}\n", table.text());
}

void print_channels(const DiffReport& report) {
  using enum Align;
  Table table({{"tensor"},
               {"axis", right},
               {"channel", right},
               {"max error", right},
               {"SQNR dB", right},
               {"mismatches", right}});
  for (const TensorDifference& t : report.difference.tensors) {
    for (const format::ChannelDifference& c : t.difference.worst_channels) {
      table.add({names_text(t.name, t.name_in_b), fmt::format("{}", *t.difference.axis),
                 fmt::format("{}", c.index), fmt::format("{:.4g}", c.max_abs),
                 fmt::format("{:.2f}", c.sqnr_db), fmt::format("{}", c.mismatches)});
    }
  }
  if (!table.empty()) fmt::print("{}\n", table.text());
}

void print_skipped(const DiffReport& report) {
  Table table({{"not compared"}, {"because"}});
  for (const format::NotCompared& s : report.difference.skipped)
    table.add({names_text(s.name, s.name_in_b), s.reason});
  if (!table.empty()) fmt::print("{}\n", table.text());
}

void print_lonely(const std::string& path, const std::vector<std::string>& names) {
  Table table({{fmt::format("only in {}", escaped(path))}});
  for (const std::string& n : names) table.add({escaped(n)});
  if (!table.empty()) fmt::print("{}\n", table.text());
}

}  // namespace

void print_text(const DiffReport& report) {
  const format::ModelDifference& d = report.difference;
  print_tensors(report);
  print_channels(report);
  print_skipped(report);
  print_lonely(report.a, d.only_in_a);
  print_lonely(report.b, d.only_in_b);
  const auto count = [&](auto holds) {
    return std::count_if(d.tensors.begin(), d.tensors.end(),
                         [&](const TensorDifference& t) { return holds(t.difference); });
  };
  const auto identical = count([](const Difference& t) { return t.exact(); });
  const auto passing = count([&](const Difference& t) { return within(report.limits, t); });
  fmt::print("{} of {} tensors identical{}, {} not compared, {} only in {}, {} only in {}\n",
             identical, d.tensors.size(),
             report.limits.given() ? fmt::format(", {} within the limits", passing) : "",
             d.skipped.size(), d.only_in_a.size(), escaped(report.a), d.only_in_b.size(),
             escaped(report.b));
}

}  // namespace dequant::tools
