// The time of an element for increasing sizes, and for shapes that are often slow.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace small_bench {

/// One line of a report: the time of an element, compared with that of another cell, the neighbour.
struct Cost {
  std::string cell;
  std::string neighbour;  ///< empty: none
  int64_t elements;
  double nanoseconds;  ///< of one element
  double ratio;        ///< to the time of the neighbour; 0 without a neighbour
};

/// uint8 -> float32 per tensor on one thread, for 2^10, 2^11, ... 2^last elements. The neighbour is
/// the next smaller size.
std::vector<Cost> straight_line(int last);

/// Shapes that are slow in many implementations, 3 Mi elements each, compared with the most similar
/// ordinary shape.
std::vector<Cost> cliffs();

}  // namespace small_bench
