// What `dequant bench` prints.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/measure/meter.h"
#include "tools/table.h"

namespace dequant::tools {

/// One cell at one size by so many threads (0: all).
struct Point {
  bench::Cell cell;
  int threads = 1;
  int64_t asked = 0;  ///< elements, before shapes round
  bench::Measurement measured;
};

/// Those under so many percent of their ceilings, worst first.
std::vector<Point> points_below(const std::vector<Point>& points, double percent);

/// How many times a cliff's percentage its neighbour reaches, at the same size by as many threads:
/// both were measured in turns with ceilings, so a change of the machine between them shows in
/// neither. 0 of a cell that has no neighbour.
double times_neighbour(const Point& point, const std::vector<Point>& points);

void print_cells(const std::vector<bench::Cell>& cells, bool json);
void print_table(const std::vector<Point>& points);
void print_below(const std::vector<Point>& below, double percent);
void print_json(const std::vector<Point>& points, const std::vector<Point>& below, double percent);

}  // namespace dequant::tools
