// What becomes of tensors that no scheme has a use for.
#pragma once

#include <optional>
#include <string_view>

#include "format/checkpoint/groups.h"

namespace dequant::format::checkpoint {

/// The use of a tensor in a dense checkpoint: it is copied, unless one of the two is there.
struct Unclaimed {
  std::string_view dropped = {};      ///< a literal: why it is not needed
  std::optional<Error> refused = {};  ///< it is, or belongs to, codes that nothing can read
};

/// True for a name with an end that names of scales have, whether there is a weight or not.
bool has_name_of_scale(std::string_view name);

/// Decides on a tensor that has no use once all schemes have found their groups. Parameters of
/// activations are dropped, and scales of weights that are stored as floats in a checkpoint where
/// others are not. Two kinds are refused with unsupported: codes, and tensors of a scheme (by
/// Scheme::is_own()) that is not the one of config.json. Scales whose weight is not there or is
/// dequantized without them are refused with malformed.
Unclaimed decide_on(const Groups& groups, const Entry& entry);

}  // namespace dequant::format::checkpoint
