// The cells of the benchmark: every input with every output, granularity and rule, by the list of
// elements.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dequant/plan.h"

namespace dequant::bench {

/// A cell. Its name is one of
///   <input>/<output>/<granularity>                  packed tensors
///   strided/<input>/<output>/<granularity>          tensors with DirectML's strides
///   ranges/<input>/<output>/<rule>[/<granularity>]  TensorFlow's rules; default: per tensor
///   cliff/<input>/<output>/<granularity>            shapes that many implementations are slow for
///   checkpoint/<input>/<output>/<granularity>       layouts and arithmetic of checkpoints
///   gguf/uint8/<output>/<block type>                blocks
/// Scales have the type of the output. Integers have a zero point.
struct Cell {
  std::string name;
  Element input = Element::uint8;
  Element output = Element::float32;
  Rule rule = Rule::subtract_then_scale;
  std::string granularity;
  std::string neighbour;  ///< of a cliff: name of the ordinary cell to compare with
  void (*lay)(Plan& plan, int64_t elements) = nullptr;

  /// A plan with about this number of elements; some shapes round the number.
  Plan plan(int64_t elements) const;
};

/// All cells, in the order above.
std::vector<Cell> all_cells();

/// Selects cells by lists of names or globs. An empty list selects all cells.
struct Filter {
  std::vector<std::string> cells = {};
  std::vector<std::string> inputs = {};
  std::vector<std::string> outputs = {};
  std::vector<std::string> granularities = {};
  std::vector<std::string> rules = {};

  /// The default: an integer, a packed integer and an 8-bit float, with every output and every
  /// granularity of nodes.
  static Filter usual();
};

/// The cells that match every list. Fails with invalid_argument if a name or glob matches no cell,
/// or if no cell matches all lists.
Result<std::vector<Cell>> select(const Filter& filter);

}  // namespace dequant::bench
