// How cost grows with size, and what awkward shapes cost beside plain ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace small_bench {

/// One line of a report: what an element costs, beside what it costs in a neighbouring cell.
struct Cost {
  std::string cell;
  std::string neighbour;  ///< empty: none
  int64_t elements;
  double nanoseconds;  ///< of one element
  double ratio;        ///< to the neighbour's; 0 where there is none
};

/// uint8 -> float32 per tensor on one thread, from 2^10 to 2^last elements, a factor of two apart;
/// the neighbour is the size before.
std::vector<Cost> straight_line(int last);

/// Shapes at which an implementation may stumble, 3 Mi elements each, beside the nearest plain
/// shape.
std::vector<Cost> cliffs();

}  // namespace small_bench
