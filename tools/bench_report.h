// The reports of `dequant bench`.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/measure/meter.h"
#include "tools/table.h"

namespace dequant::tools {

/// The measurement of one cell at one size with some number of threads (0: all).
struct Point {
  bench::Cell cell;
  int threads = 1;
  int64_t asked = 0;  ///< elements asked for; the shape of a cell may have a few more or less
  bench::Measurement measured;
};

/// The points below so many percent of their ceilings, the worst first.
std::vector<Point> points_below(const std::vector<Point>& points, double percent);

/// The percentage of the neighbour of a cliff cell, at the same size and number of threads, divided
/// by that of the cell. Each percentage comes from alternating measurements of a cell and its
/// ceiling, so a change of the machine's speed between both cells changes neither. 0 for a cell
/// without neighbour.
double times_neighbour(const Point& point, const std::vector<Point>& points);

void print_cells(const std::vector<bench::Cell>& cells, bool json);
void print_table(const std::vector<Point>& points);
void print_below(const std::vector<Point>& below, double percent);
void print_json(const std::vector<Point>& points, const std::vector<Point>& below, double percent);

}  // namespace dequant::tools
