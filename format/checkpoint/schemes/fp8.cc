// FP8 weights as DeepSeek, Qwen, Kimi, Mistral, FBGEMM and ComfyUI store them: each weight of a
// float8 type, or of two FP4 codes in a byte (DeepSeek-V4), has a scale of another name beside it.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <nlohmann/json.hpp>

#include "format/checkpoint/schemes/comfy_layers.h"
#include "format/checkpoint/schemes/schemes.h"
#include "format/checkpoint/section.h"
#include "format/io/errors.h"

namespace dequant::format::checkpoint {
namespace {
namespace fp8 {

using nlohmann::ordered_json;

constexpr std::string_view kFbgemm = "fbgemm_fp8";
constexpr std::array<std::string_view, 3> kMethods{"fp8", "mxfp8", kFbgemm};
constexpr std::string_view kWeight = ".weight";

/// Ends of the name of a scale, in place of "weight" or "W" of a weight "X.weight" or "X.W".
constexpr std::array<std::string_view, 5> kScaleOfModule{
    ".weight_scale_inv", ".weight_scale", ".scale", ".scale_weight", ".qscale_weight",
};
/// The same behind the whole name of a weight that is not called "weight".
constexpr std::array<std::string_view, 2> kScaleOfName{"_scale_inv", "_scale"};

bool is_float8(const Entry& entry) {
  return entry.dtype().starts_with("F8_") && entry.dtype() != "F8_E8M0";
}

/// The only scale of a weight, or null. Fails with malformed where there are two.
Result<const Entry*> scale_of(const Groups& groups, const Entry& weight) {
  const Entry* found = nullptr;
  std::string name(weight.name());
  const bool module = name.ends_with(kWeight);
  if (module) name.resize(name.size() - kWeight.size());
  const auto look = [&](std::string_view end) -> Status {
    const Entry* scale = groups.find(name + std::string(end));
    if (scale != nullptr && found != nullptr) {
      return failure(ErrorCode::malformed, "tensor {}: {} and {} both may be its scale",
                     escaped(weight.name()), escaped(found->name()), escaped(scale->name()));
    }
    if (scale != nullptr) found = scale;
    return {};
  };
  if (module) {
    for (const auto end : kScaleOfModule) DEQUANT_CHECK(look(end));
  } else {
    for (const auto end : kScaleOfName) DEQUANT_CHECK(look(end));
  }
  return found;
}

/// Block lengths of the last two dimensions.
using Lengths = std::array<int64_t, 2>;

/// weight_block_size of the configuration.
Result<std::optional<Lengths>> configured_block(const Config& config) {
  const ordered_json* section = config.quantization();
  if (section == nullptr || !section->contains("weight_block_size"))
    return std::optional<Lengths>();
  const ordered_json& size = (*section)["weight_block_size"];
  if (size.is_null()) return std::optional<Lengths>();
  if (size.is_array() && size.size() == 2 && size[0].is_number_unsigned() &&
      size[1].is_number_unsigned()) {
    const Lengths block{size[0].get<int64_t>(), size[1].get<int64_t>()};
    if (block[0] > 0 && block[1] > 0) return std::optional(block);
  }
  return failure(ErrorCode::malformed, "config.json: weight_block_size is {}, not two lengths",
                 escaped(size.dump()));
}

/// The block length of one dimension where nothing says it: only where exactly one power of two, or
/// none at all, is possible.
std::optional<int64_t> implied_block(int64_t size, int64_t blocks) {
  if (blocks == 1) return size;
  if (blocks == size) return 1;
  if (blocks < 1 || size % blocks != 0) return {};
  const int64_t length = size / blocks;
  return std::has_single_bit(static_cast<uint64_t>(length)) ? std::optional(length) : std::nullopt;
}

/// True where the configuration says that experts have two FP4 codes in a byte: E8M0 scales of such
/// weights may be stored as U8.
Result<bool> has_fp4_experts(const Config& config) {
  for (const Section& section : {Section(config.quantization(), kQuantizationConfig),
                                 Section(&config.document(), "config.json")}) {
    DEQUANT_TRY(const auto type, section.text("expert_dtype"));
    if (type) return *type == "fp4";
  }
  return false;
}

class Recogniser {
 public:
  explicit Recogniser(Groups& groups) : groups_(groups) {}

  Status run() {
    DEQUANT_CHECK(check_semantics());
    DEQUANT_TRY(block_, configured_block(groups_.config()));
    DEQUANT_TRY(comfy_, ComfyLayers::read(groups_));
    DEQUANT_CHECK(comfy_.leave_others(groups_));
    DEQUANT_TRY(const bool fp4_experts, has_fp4_experts(groups_.config()));
    for (const Entry& entry : groups_.shards().entries()) {
      const bool packed = entry.dtype() == "I8";  // FP4, two codes in a byte
      if ((!is_float8(entry) && !packed) || groups_.unread_of(entry) != nullptr) continue;
      DEQUANT_TRY(const Entry* scale, scale_of(groups_, entry));
      if (scale == nullptr) continue;
      const bool is_e8m0 = scale->dtype() == "F8_E8M0" || (fp4_experts && scale->dtype() == "U8");
      if (packed && !is_e8m0) continue;
      DEQUANT_CHECK(add(entry, *scale, packed));
    }
    return ComfyLayers::drop_markers(groups_);
  }

 private:
  Status add(const Entry& weight, const Entry& scale, bool packed) {
    std::string name(weight.name());
    if (packed) {
      const std::array<Named, 2> tensors{Named{"weight", &weight}, Named{"scale", &scale}};
      return groups_.add(std::move(name), "mx", tensors);
    }
    if (groups_.config().method() == kFbgemm) DEQUANT_CHECK(check_fbgemm(weight, scale));
    DEQUANT_TRY(const Entry* marker, comfy_.marker_of(weight, scale));
    DEQUANT_TRY(const std::string block, block_of(weight, scale));
    const std::array<SchemeOption, 1> options{SchemeOption{"block", block}};
    const std::array<Named, 2> tensors{Named{"weight", &weight}, Named{"weight_scale", &scale}};
    DEQUANT_TRY(Group group, groups_.group_of(std::move(name), "fp8", tensors,
                                              std::span(options).first(block.empty() ? 0 : 1)));
    if (marker != nullptr) group.also.push_back(marker);
    return groups_.add(std::move(group));
  }

  /// GPTQModel divides by its scales, in the type of the output.
  Status check_semantics() const {
    static constexpr const char* kSemantics = "weight_scale_semantics";
    const ordered_json* section = groups_.config().quantization();
    if (section == nullptr || !section->contains(kSemantics)) return {};
    return failure(ErrorCode::unsupported,
                   "config.json: {} is {}: weights of GPTQModel are divided by their scales, which "
                   "dequant does not compute",
                   kSemantics, escaped((*section)[kSemantics].dump()));
  }

  /// FBGEMM has one scale for each column of [experts, rows, columns]. The scales of down_proj of
  /// Llama 4 have the shape [experts, columns, 1]: where rows and columns are as many, scales of
  /// rows would have the same shape.
  static Status check_fbgemm(const Entry& weight, const Entry& scale) {
    const Shape size = weight.shape();
    if (size.size() < 3) return {};
    if (std::ranges::equal(scale.shape(), std::array<int64_t, 3>{size[0], 1, size.back()}))
      return {};
    return failure(ErrorCode::unsupported,
                   "tensor {}: its scale {} has the shape [{}]; of {} and a weight of the shape "
                   "[{}], dequant reads scales of the shape [{}, 1, {}]",
                   escaped(weight.name()), escaped(scale.name()), fmt::join(scale.shape(), ", "),
                   kFbgemm, fmt::join(size, ", "), size[0], size.back());
  }

  /// The block lengths of all dimensions as text; empty where the shape of the scale is enough.
  Result<std::string> block_of(const Entry& weight, const Entry& scale) const {
    const Shape size = weight.shape();
    const Shape blocks = scale.shape();
    std::vector<int64_t> block;
    if (blocks.size() != size.size() || size.size() < 2) return std::string();
    const std::optional<Lengths> lengths = lengths_of(weight, scale);
    for (size_t d = 0; d < size.size(); ++d) {
      const size_t from_last = size.size() - 1 - d;
      const auto length = !lengths        ? implied_block(size[d], blocks[d])
                          : from_last < 2 ? (*lengths)[1 - from_last]
                                          : 1;
      if (!length) {
        return failure(ErrorCode::unsupported,
                       "tensor {}: dimension {} of {} elements has {} scales, and no "
                       "weight_block_size in config.json says how many elements share one",
                       escaped(weight.name()), d, size[d], blocks[d]);
      }
      block.push_back(std::max<int64_t>(*length, 1));
    }
    return fmt::format("{}", fmt::join(block, ","));
  }

  /// weight_block_size; or blocks within rows, of its second length, where only these fit the shape
  /// of E8M0 scales: the tables of DeepSeek-V4.1's engrams are MX beside blocks of 32 by 32.
  std::optional<Lengths> lengths_of(const Entry& weight, const Entry& scale) const {
    const bool is_e8m0 = scale.dtype() == "F8_E8M0" || scale.dtype() == "U8";
    if (!block_ || !is_e8m0 || weight.shape().size() != 2) return block_;
    const auto fits = [&](const Lengths& lengths) {
      for (size_t d = 0; d < 2; ++d) {
        const int64_t size = weight.shape()[d];
        if (scale.shape()[d] != size / lengths[d] + (size % lengths[d] != 0 ? 1 : 0)) return false;
      }
      return true;
    };
    const Lengths rows{1, (*block_)[1]};
    return !fits(*block_) && fits(rows) ? rows : block_;
  }

  Groups& groups_;
  std::optional<Lengths> block_;
  ComfyLayers comfy_;
};

bool is_own(const Groups& /*groups*/, const Entry& entry) {
  return is_float8(entry) || ComfyLayers::is_marker(entry);
}

}  // namespace fp8
}  // namespace

const Scheme kFp8{"fp8", fp8::kMethods, &fp8::is_own,
                  [](Groups& groups) { return fp8::Recogniser(groups).run(); },
                  &ComfyLayers::has_metadata};

}  // namespace dequant::format::checkpoint
