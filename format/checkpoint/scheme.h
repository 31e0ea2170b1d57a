// A scheme: how one producer's checkpoints are recognised, and which of their tensors belong
// together.
#pragma once

#include <span>
#include <string_view>

#include "format/checkpoint/groups.h"

namespace dequant::format::checkpoint {

/// One scheme: a constant of static storage, listed by schemes().
struct Scheme {
  std::string_view name;
  /// The values of quant_method in config.json that name the scheme.
  std::span<const std::string_view> methods;
  /// True if the name and the type of a tensor, and the names of tensors beside it, identify it as
  /// one of this scheme, without regard to config.json; may be null.
  bool (*is_own)(const Groups& groups, const Entry& entry);
  /// Finds the tensors that belong together, and adds their groups. Fails with malformed or
  /// unsupported; the message names the tensor.
  Status (*recognise)(Groups& groups);
  /// True if the metadata of the files identify the checkpoint as one of this scheme; may be null.
  bool (*has_metadata)(const Shards& shards) = nullptr;
};

/// All schemes. A new scheme is a file in format/checkpoint/schemes/ and a line of this list.
std::span<const Scheme* const> schemes();

/// Finds the groups of a checkpoint: by the scheme that config.json names, or else by all schemes
/// whose tensors the checkpoint has. Fails with unsupported for a quant_method that no scheme has,
/// and as Scheme::recognise() and Groups::finish() do.
Status recognise(Groups& groups, bool keep_unknown);

}  // namespace dequant::format::checkpoint
