// Vectors of the schemes of checkpoints, from the list of schemes: nodes of stored tensors by the
// producers' names.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/vectors/choices.h"
#include "conformance/vectors/collect.h"
#include "conformance/vectors/values.h"

namespace dequant::conformance::vectors {

/// A stored tensor of a node.
struct Stored {
  std::string_view name;
  Element element;
  Sizes shape;
  int64_t below = 0;               ///< of group indices: the number of groups; else 0
  std::optional<Element> as = {};  ///< the element whose codes are stored, where it is another
  std::vector<std::pair<size_t, uint64_t>> set = {};  ///< indices of elements, and their codes
  /// Of codes: any rows are allowed, as no other tensor says how many there are.
  bool any_rows = false;
};

/// A node of a scheme; the first tensor has the codes.
struct CheckpointNode {
  std::vector<Stored> tensors;
  std::map<std::string, CaseAttribute> attributes;
  std::string granularity;  ///< "per_tensor", "per_row", "groups", "act_order" ...
};

/// Makes nodes that the scheme accepts. Those of the first combination have whole blocks.
using MakeNode = CheckpointNode (*)(Choices&);

/// The function for a scheme, or null where another list has it.
MakeNode integers_of(std::string_view scheme);     ///< codes that are integers or indices
MakeNode floats_of(std::string_view scheme);       ///< codes that are floats, or of both kinds
MakeNode block_types_of(std::string_view scheme);  ///< blocks with codes and scales

/// Columns in groups that share parameters.
struct Groups {
  int64_t columns;
  int64_t size;
  int64_t count;
};

/// At most 32 columns: of the forms "groups" and "act_order" in whole groups, "short_group" with a
/// short last one, and of any other form in one group.
Groups groups_of(Choices& choices, std::string_view form);

/// The blocks of a size.
constexpr int64_t blocks_of(int64_t size, int64_t block) { return (size + block - 1) / block; }

/// Adds every combination of the scheme's parameters, and for each rule nodes that violate it.
void add_checkpoint(Collector& out, std::string_view scheme);

/// Adds random nodes that the scheme accepts.
void add_checkpoint_random(Collector& out, std::string_view scheme, int64_t count);

}  // namespace dequant::conformance::vectors
