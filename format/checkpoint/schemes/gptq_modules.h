// What a GPTQ configuration says of the layout of tensors, and of single modules: GPTQModel's
// "dynamic".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "format/checkpoint/patterns.h"
#include "format/checkpoint/section.h"

namespace dequant::format::checkpoint {

/// The key of the layout of tensors: the older name where only that is there.
const char* gptq_layout_key(const Section& config);
/// The layout of tensors, by default "gptq". Fails with malformed.
Result<std::string> gptq_layout(const Section& config);
/// That of AWQ's tensors, which GPTQModel stores with quant_method "gptq" as well.
inline constexpr std::string_view kGptqGemm = "gemm";

/// The settings of a module.
struct GptqSettings {
  int64_t bits = 0;
  int64_t group_size = 0;
  std::optional<bool> desc_act = {};
};

class GptqModules {
 public:
  /// Settings of all modules, and the members of "dynamic": regular expressions of names, behind
  /// "+:" or nothing with settings of their own, and behind "-:" of modules that are not quantized.
  /// Fails with malformed where a member is no such object, with unsupported where one changes the
  /// layout of tensors, and with limit where expressions have more than 100,000 characters.
  static Result<GptqModules> read(const Section& config);

  /// The settings of a module: those of the first rule that matches the beginning of its name.
  /// Nothing where an expression may match whose syntax Patterns does not have. Fails with
  /// malformed where a module is not quantized.
  Result<std::optional<GptqSettings>> find(std::string_view module) const;

  /// The settings of modules that have none of their own.
  const GptqSettings& all() const { return all_; }

 private:
  struct Rule {
    std::string text;  ///< as the configuration has it
    bool is_quantized = true;
    GptqSettings settings = {};
  };

  Status add(const std::string& text, const Section& members);

  GptqSettings all_;
  std::vector<Rule> rules_;  ///< one for each pattern, up to the first of an unknown syntax
  Patterns patterns_;
  bool has_unknown_ = false;  ///< after all rules there is one of an unknown syntax
};

}  // namespace dequant::format::checkpoint
