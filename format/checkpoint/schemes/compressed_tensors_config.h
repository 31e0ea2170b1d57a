// The quantization_config of compressed-tensors: which groups of options describe a module.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dequant/scheme.h"
#include "format/checkpoint/config.h"
#include "format/checkpoint/module_list.h"

namespace dequant::format::checkpoint {

/// One of config_groups, with what it says of weights.
struct CtGroup {
  std::string name;
  ModuleList targets;
  std::string format;
  std::string type;      ///< "int" or "float"
  std::string strategy;  ///< as SchemeOption has it
  std::string num_bits;
  std::string group_size;       ///< empty: none
  std::string block_structure;  ///< the same
  bool symmetric = true;
  bool has_byte_scales = false;  ///< scale_dtype is torch.uint8

  /// False for formats that are not read. Weights of these may be dense.
  bool has_known_format() const;
  /// The options of the scheme; `words` and `weight_shape` may be empty.
  std::vector<SchemeOption> options(std::string_view words, std::string_view weight_shape) const;
};

struct CtConfig {
  std::vector<CtGroup> groups;
  ModuleList ignored;
  std::string_view words;  ///< how versions fill words: "padded", "dense", or empty: not known

  /// Fails with malformed, and with unsupported for what is not read: other strategies, and sparse
  /// weights.
  static Result<CtConfig> read(const Config& config);

  /// The groups that describe a module: the first of these kinds that there are: by its name, by
  /// an expression, by a class.
  std::vector<const CtGroup*> groups_of(std::string_view module) const;
};

}  // namespace dequant::format::checkpoint
