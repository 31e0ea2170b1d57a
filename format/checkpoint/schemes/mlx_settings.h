// How the modules of an MLX checkpoint are quantized: what config.json says of all modules and of
// single modules, and what the shapes of the tensors admit.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "format/checkpoint/groups.h"
#include "format/checkpoint/section.h"

namespace dequant::format::checkpoint {

/// How a module is quantized.
struct MlxSettings {
  std::string mode;
  int64_t bits = 0;
  int64_t group_size = 0;

  bool operator==(const MlxSettings&) const = default;
};

/// What the object `quantization` of config.json says of modules.
class MlxModules {
 public:
  /// Reads the object, which may be null. Modules of it that have no tensors in `groups` are noted.
  MlxModules(const nlohmann::ordered_json* quantization, const Groups& groups);

  /// False where the object says nothing of the module, and nothing of all.
  bool says_something_of(const std::string& module) const;

  /// The settings of the module with these tensors. A module that config.json does not name has the
  /// settings of the whole model where these fit the shapes of the tensors, or else the only
  /// settings that fit. Fails with unsupported where several settings fit and nothing decides, and
  /// with malformed.
  Result<MlxSettings> settings(const std::string& module, const Entry& weight, const Entry& scales);

  /// A sentence about modules for which the settings of the whole model were used although the
  /// settings of another module fit as well; empty: there are no such modules.
  std::string warning() const;

 private:
  /// Settings, and a module that has them.
  struct Own {
    std::string_view module;
    MlxSettings settings;
  };

  Result<MlxSettings> settings_of_all() const;
  Result<MlxSettings> settings_of_unnamed(const std::string& module, const Entry& weight,
                                          const Entry& scales);

  Section whole_;
  std::unordered_map<std::string_view, const nlohmann::ordered_json*> named_;
  std::vector<Own> own_;  ///< affine settings of single modules, each once
  /// The affine settings of modules without tensors, by layer: MLX's models replace modules by
  /// others, whose settings config.json may lack.
  std::unordered_map<std::string_view, std::vector<Own>> replaced_;

  size_t assumed_count_ = 0;        ///< modules that the warning is about
  const Entry* assumed_ = nullptr;  ///< the first of their weights
  MlxSettings all_;                 ///< the settings that were used
  Own other_;                       ///< the settings that fit as well
};

}  // namespace dequant::format::checkpoint
