// AutoRound stores tensors as other producers do: its configuration says which of these.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "format/checkpoint/patterns.h"
#include "format/checkpoint/section.h"

namespace dequant::format::checkpoint {

/// The values of quant_method that AutoRound writes.
inline constexpr std::array<std::string_view, 2> kAutoRound{"auto-round", "intel/auto-round"};

bool is_auto_round(std::string_view method);

enum class AutoRoundLayout {
  gptq,     ///< zero points minus 1
  gptq_v2,  ///< zero points
  awq,
  mlx,
};

/// The layout that packing_format, or backend in old files, names. Fails with unsupported where it
/// is none of these, or where data_type is no kind of int; and with malformed.
Result<AutoRoundLayout> auto_round_layout(const Section& section);

/// What extra_config says of single modules.
class AutoRoundModules {
 public:
  /// Where a number is absent, the number of the whole model counts.
  struct Settings {
    std::optional<int64_t> bits = {};
    std::optional<int64_t> group_size = {};
  };

  /// Reads the objects of extra_config: of modules by their names, and by regular expressions that
  /// match a part of the name. Fails with malformed where a member is no such object, and with
  /// limit where expressions have more than 100,000 characters.
  static Result<AutoRoundModules> read(const Section& config);

  bool empty() const { return empty_; }
  /// True where a module without settings may have some: by an expression whose syntax Patterns
  /// lacks.
  bool has_unknown() const { return has_unknown_; }
  /// The settings that extra_config has under the name of the module, or else under the first
  /// expression that matches the name. Null: there are none, or an expression of unknown syntax may
  /// match the name (has_unknown()).
  const Settings* find(const std::string& module) const;

 private:
  bool empty_ = true;
  bool has_unknown_ = false;
  std::unordered_map<std::string, Settings> names_;
  std::vector<Settings> expressions_;  ///< one for each pattern, up to the first of unknown syntax
  Patterns patterns_;
};

}  // namespace dequant::format::checkpoint
