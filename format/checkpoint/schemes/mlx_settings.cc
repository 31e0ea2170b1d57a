// How the modules of an MLX checkpoint are quantized.
#include "format/checkpoint/schemes/mlx_settings.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "format/checkpoint/modules.h"
#include "format/io/errors.h"

namespace dequant::format::checkpoint {

using nlohmann::ordered_json;

namespace {

constexpr std::string_view kAffine = "affine";
constexpr std::string_view kWhere = "config.json: quantization";

/// The bits and the group size of a module that has a mode alone, as mlx.nn's to_quantized() sets
/// them. Modes other than affine have no other numbers.
struct Defaults {
  std::string_view mode;
  int64_t bits;
  int64_t group_size;
};
constexpr std::array<Defaults, 4> kDefaults{
    {{kAffine, 4, 64}, {"mxfp4", 4, 32}, {"nvfp4", 4, 16}, {"mxfp8", 8, 32}}};
/// The bits and group sizes of affine modules.
constexpr std::array<int64_t, 7> kBits{1, 2, 3, 4, 5, 6, 8};
constexpr std::array<int64_t, 3> kGroups{32, 64, 128};

/// The settings of a module with an object of its own, which are none of the whole model: MLX calls
/// to_quantized() with the members of the object.
Result<MlxSettings> settings_of(const Section& own) {
  MlxSettings s;
  DEQUANT_TRY(const auto mode, own.text("mode"));
  DEQUANT_TRY(const auto bits, own.integer("bits"));
  DEQUANT_TRY(const auto group_size, own.integer("group_size"));
  s.mode = mode.value_or(std::string(kAffine));
  for (const Defaults& defaults : kDefaults) {
    if (defaults.mode == s.mode) s = {s.mode, defaults.bits, defaults.group_size};
  }
  if (bits) s.bits = *bits;
  if (group_size) s.group_size = *group_size;
  return s;
}

/// All settings with which a row of the words and a row of the scales have as many codes. Scales of
/// a float type are affine, U8 is not.
std::vector<MlxSettings> that_fit(const Entry& weight, const Entry& scales) {
  std::vector<MlxSettings> fit;
  const Shape words = weight.shape();
  const Shape groups = scales.shape();
  if (words.empty() || groups.empty() || groups.back() == 0) return fit;
  if (words.back() > INT64_MAX / 32) return fit;  // of a tensor without elements
  const int64_t bits_of_row = words.back() * 32;
  if (bits_of_row % groups.back() != 0) return fit;
  const int64_t bits_of_group = bits_of_row / groups.back();
  if (scales.dtype() == "U8") {
    for (const Defaults& d : kDefaults) {
      if (d.mode != kAffine && d.bits * d.group_size == bits_of_group)
        fit.push_back({std::string(d.mode), d.bits, d.group_size});
    }
    return fit;
  }
  for (const int64_t bits : kBits) {
    for (const int64_t group_size : kGroups) {
      if (bits * group_size == bits_of_group)
        fit.push_back({std::string(kAffine), bits, group_size});
    }
  }
  return fit;
}

template <class List, class Value>
bool has(const List& list, const Value& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

/// "8 bits in groups of 32".
std::string words_of(const MlxSettings& settings) {
  return fmt::format("{} bits in groups of {}", settings.bits, settings.group_size);
}

std::string words_of(const std::vector<MlxSettings>& list) {
  std::string words;
  for (const MlxSettings& settings : list)
    words += (words.empty() ? "" : ", ") + words_of(settings);
  return words;
}

/// "model.layers.3" of "model.layers.3.self_attn.q_proj": up to the first part that is a number. A
/// module without numbers is of the layer that its own parent is.
std::string_view layer_of(std::string_view module) {
  for (size_t begin = 0; begin < module.size();) {
    const size_t end = std::min(module.find('.', begin), module.size());
    const std::string_view part = module.substr(begin, end - begin);
    if (!part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos)
      return module.substr(0, end);
    begin = end + 1;
  }
  const size_t last = module.rfind('.');
  return module.substr(0, last == std::string_view::npos ? 0 : last);
}

/// The object of a module in `quantization`.
Section section_of(const ordered_json& value, std::string_view module) {
  return {&value, fmt::format("{}: {}", kWhere, escaped(module))};
}

}  // namespace

MlxModules::MlxModules(const ordered_json* quantization, const Groups& groups)
    : whole_(quantization, kWhere) {
  if (quantization == nullptr) return;
  const auto note = [](std::vector<Own>& list, const Own& own) {
    if (std::none_of(list.begin(), list.end(),
                     [&](const Own& other) { return other.settings == own.settings; }))
      list.push_back(own);
  };
  for (const auto& [key, value] : quantization->items()) {
    if (value.is_null()) continue;
    named_.emplace(key, &value);
    if (!value.is_object()) continue;
    // What is wrong with the settings of a module is said where it has tensors.
    const auto settings = settings_of(section_of(value, key));
    if (!settings || settings->mode != kAffine || !has(kBits, settings->bits) ||
        !has(kGroups, settings->group_size)) {
      continue;
    }
    note(own_, {key, *settings});
    if (find(groups, key, ".scales") == nullptr) note(replaced_[layer_of(key)], {key, *settings});
  }
}

bool MlxModules::says_something_of(const std::string& module) const {
  return named_.contains("bits") || named_.contains(module);
}

Result<MlxSettings> MlxModules::settings_of_all() const {
  DEQUANT_TRY(const auto mode, whole_.text("mode"));
  DEQUANT_TRY(const auto bits, whole_.integer("bits"));
  DEQUANT_TRY(const auto group_size, whole_.integer("group_size"));
  if (!bits) return whole_.wrong("bits", "an integer");
  if (!group_size) return whole_.wrong("group_size", "an integer");
  return MlxSettings{mode.value_or(std::string(kAffine)), *bits, *group_size};
}

Result<MlxSettings> MlxModules::settings(const std::string& module, const Entry& weight,
                                         const Entry& scales) {
  const auto given = named_.find(module);
  if (given == named_.end()) return settings_of_unnamed(module, weight, scales);
  const ordered_json& value = *given->second;
  // True, as false, is what a predicate over modules gave: the module has the settings of all.
  if (value.is_boolean()) {
    if (value) return settings_of_all();
    return failure(ErrorCode::malformed, "tensor {}: it has codes, and {} is false in {}",
                   escaped(weight.name()), escaped(module), kWhere);
  }
  if (!value.is_object()) return whole_.wrong(module, "an object");
  return settings_of(section_of(value, module));
}

Result<MlxSettings> MlxModules::settings_of_unnamed(const std::string& module, const Entry& weight,
                                                    const Entry& scales) {
  DEQUANT_TRY(MlxSettings all, settings_of_all());
  const std::vector<MlxSettings> fit = that_fit(weight, scales);
  const bool is_known = std::any_of(kDefaults.begin(), kDefaults.end(),
                                    [&](const Defaults& d) { return d.mode == all.mode; });
  if (fit.empty() || !is_known) return all;  // plan_scheme() says what is wrong
  if (!has(fit, all)) {
    if (fit.size() == 1) return fit[0];
    return failure(
        ErrorCode::unsupported,
        "tensor {}: {} does not name its module. The settings of the whole model, {}, do "
        "not fit the shapes, and several others do: {}. "
        "The entry \"{}\": {{\"bits\": ..., \"group_size\": ...}} decides",
        escaped(weight.name()), kWhere, words_of(all), words_of(fit), escaped(module));
  }
  const auto fits_too = [&](const Own& own) {
    return own.settings != all && has(fit, own.settings);
  };
  const auto other_of = [&](const std::vector<Own>& list) {
    const auto own = std::find_if(list.begin(), list.end(), fits_too);
    return own == list.end() ? nullptr : &*own;
  };
  const auto layer = replaced_.find(layer_of(module));
  if (const Own* own = layer == replaced_.end() ? nullptr : other_of(layer->second)) {
    return failure(
        ErrorCode::unsupported,
        "tensor {}: {} does not name its module, and names {}, which has no tensors. The "
        "settings of the whole model, {}, and those of {}, {}, both fit the shapes. "
        "The entry \"{}\": {{\"bits\": ..., \"group_size\": ...}} decides",
        escaped(weight.name()), kWhere, escaped(own->module), words_of(all), escaped(own->module),
        words_of(own->settings), escaped(module));
  }
  const Own* other = other_of(own_);
  if (other != nullptr && assumed_count_++ == 0) {
    assumed_ = &weight;
    all_ = all;
    other_ = *other;
  }
  return all;
}

std::string MlxModules::warning() const {
  if (assumed_count_ == 0) return {};
  const std::string more =
      assumed_count_ == 1 ? "" : fmt::format(" (and {} more)", assumed_count_ - 1);
  return fmt::format(
      "tensor {}{}: {} does not name the module: the settings of the whole model, {}, were used; "
      "the settings of {}, {}, fit the shapes as well",
      escaped(assumed_->name()), more, kWhere, words_of(all_), escaped(other_.module),
      words_of(other_.settings));
}

}  // namespace dequant::format::checkpoint
