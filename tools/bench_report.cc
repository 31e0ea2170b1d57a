// The reports of `dequant bench`.
#include "tools/bench_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

#include "dequant/isa.h"

namespace dequant::tools {
namespace {

using nlohmann::ordered_json;

/// "256Ki" for a multiple of a power of 1024, else decimal digits.
std::string elements_text(int64_t elements) {
  constexpr std::array kUnits{"", "Ki", "Mi", "Gi", "Ti"};
  size_t unit = 0;
  while (elements != 0 && elements % 1024 == 0 && unit + 1 < kUnits.size()) {
    elements /= 1024;
    ++unit;
  }
  return fmt::format("{}{}", elements, kUnits[unit]);
}

std::string threads_text(int threads) { return threads == 0 ? "all" : std::to_string(threads); }

ordered_json to_json(const Point& p, const std::vector<Point>& points) {
  const bench::Measurement& m = p.measured;
  const double times = times_neighbour(p, points);
  return {{"cell", p.cell.name},
          {"input", name(p.cell.input)},
          {"output", name(p.cell.output)},
          {"granularity", p.cell.granularity},
          {"rule", name(p.cell.rule)},
          {"elements", m.elements},
          {"threads", p.threads == 0 ? ordered_json("all") : ordered_json(p.threads)},
          {"bytes", m.bytes},
          {"seconds", m.seconds},
          {"elements_per_second", m.elements_per_second()},
          {"bytes_per_second", m.bytes_per_second()},
          {"ceiling", m.ceiling},
          {"ceiling_seconds", m.ceiling_seconds},
          {"percent_of_ceiling", m.percent_of_ceiling},
          {"way", m.way},
          {"neighbour", p.cell.neighbour.empty() ? ordered_json() : ordered_json(p.cell.neighbour)},
          {"times_neighbour", times > 0 ? ordered_json(times) : ordered_json()}};
}

}  // namespace

std::vector<Point> points_below(const std::vector<Point>& points, double percent) {
  std::vector<Point> below;
  std::copy_if(points.begin(), points.end(), std::back_inserter(below),
               [&](const Point& p) { return p.measured.percent_of_ceiling < percent; });
  std::stable_sort(below.begin(), below.end(), [](const Point& a, const Point& b) {
    return a.measured.percent_of_ceiling < b.measured.percent_of_ceiling;
  });
  return below;
}

double times_neighbour(const Point& point, const std::vector<Point>& points) {
  if (point.cell.neighbour.empty()) return 0;
  const auto found = std::find_if(points.begin(), points.end(), [&](const Point& p) {
    return p.cell.name == point.cell.neighbour && p.threads == point.threads &&
           p.asked == point.asked;
  });
  if (found == points.end()) return 0;
  return found->measured.percent_of_ceiling / point.measured.percent_of_ceiling;
}

void print_cells(const std::vector<bench::Cell>& cells, bool json) {
  if (!json) {
    for (const bench::Cell& cell : cells) fmt::print("{}\n", cell.name);
    return;
  }
  ordered_json names = ordered_json::array();
  for (const bench::Cell& cell : cells) names.push_back(cell.name);
  fmt::print("{}\n", ordered_json{{"cells", names}}.dump(2));
}

void print_table(const std::vector<Point>& points) {
  const bool cliffs = std::any_of(points.begin(), points.end(),
                                  [](const Point& p) { return !p.cell.neighbour.empty(); });
  std::vector<Table::Column> columns{{"cell"},
                                     {"elements", Align::right},
                                     {"threads", Align::right},
                                     {"Gelements/s", Align::right},
                                     {"GB/s", Align::right},
                                     {"% of ceiling", Align::right}};
  if (cliffs) {
    columns.push_back({"x neighbour", Align::right});
    columns.push_back({"neighbour"});
  }
  Table table(std::move(columns));
  for (const Point& p : points) {
    const bench::Measurement& m = p.measured;
    std::vector<std::string> row{p.cell.name,
                                 elements_text(m.elements),
                                 threads_text(p.threads),
                                 fmt::format("{:.2f}", m.elements_per_second() * 1e-9),
                                 fmt::format("{:.1f}", m.bytes_per_second() * 1e-9),
                                 fmt::format("{:.0f}", m.percent_of_ceiling)};
    if (cliffs) {
      const double times = times_neighbour(p, points);
      row.push_back(times > 0 ? fmt::format("{:.2f}", times) : "");
      row.push_back(p.cell.neighbour);
    }
    table.add(std::move(row));
  }
  fmt::print("{}", table.text());
}

void print_below(const std::vector<Point>& below, double percent) {
  if (percent <= 0) return;
  fmt::print("\n{} {} below {} % of {}{}\n", below.size(), below.size() == 1 ? "cell" : "cells",
             percent, below.size() == 1 ? "its ceiling" : "their ceilings",
             below.empty() ? "" : ":");
  for (const Point& p : below) {
    fmt::print("{:.0f} %  {}, {} elements, threads: {}\n", p.measured.percent_of_ceiling,
               p.cell.name, elements_text(p.measured.elements), threads_text(p.threads));
  }
}

void print_json(const std::vector<Point>& points, const std::vector<Point>& below, double percent) {
  ordered_json cells = ordered_json::array();
  for (const Point& p : points) cells.push_back(to_json(p, points));
  ordered_json names = ordered_json::array();
  for (const Point& p : below) names.push_back(p.cell.name);
  const ordered_json all{{"target", active_target()},
                         {"processors", std::thread::hardware_concurrency()},
                         {"last_level_cache_bytes", bench::last_level_cache_bytes()},
                         {"cells", cells},
                         {"threshold", percent > 0 ? ordered_json(percent) : ordered_json()},
                         {"below", names}};
  fmt::print("{}\n", all.dump(2));
}

}  // namespace dequant::tools
