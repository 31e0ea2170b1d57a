// The cells of the table: every input with every output, granularity and rule. A new element
// appears by itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dequant/plan.h"

namespace dequant::bench {

/// One cell, named
///   <input>/<output>/<granularity>                  packed tensors
///   strided/<input>/<output>/<granularity>          as DirectML places and broadcasts them
///   ranges/<input>/<output>/<rule>[/<granularity>]  TensorFlow's rules; without: per tensor
///   cliff/<input>/<output>/<granularity>            shapes that are easily slow
/// Scales have the type of the output, integers a zero point.
struct Cell {
  std::string name;
  Element input = Element::uint8;
  Element output = Element::float32;
  Rule rule = Rule::subtract_then_scale;
  std::string granularity;
  std::string neighbour;  ///< of a cliff: the name of the cell that it is compared with
  void (*lay)(Plan& plan, int64_t elements) = nullptr;

  /// About so many elements; the shapes of a few granularities round.
  Plan plan(int64_t elements) const;
};

/// All cells, in the order above.
std::vector<Cell> all_cells();

/// Which cells; a name or glob in a list selects what it matches, an empty list everything.
struct Filter {
  std::vector<std::string> cells = {};
  std::vector<std::string> inputs = {};
  std::vector<std::string> outputs = {};
  std::vector<std::string> granularities = {};
  std::vector<std::string> rules = {};

  /// What is measured when nobody says otherwise: an integer, a packed integer and a small float,
  /// with every output and the granularities that nodes have.
  static Filter usual();
};

/// The cells that match every list. Fails with invalid_argument when a name or glob matches no cell
/// at all, or when all together match none.
Result<std::vector<Cell>> select(const Filter& filter);

}  // namespace dequant::bench
