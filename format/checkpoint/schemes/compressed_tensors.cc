// compressed-tensors: "X.weight" or "X.weight_packed" and "X.weight_scale" become "X.weight", as
// the group of the configuration says that describes module X.
#include <algorithm>
#include <array>

#include "format/checkpoint/integers.h"
#include "format/checkpoint/modules.h"
#include "format/checkpoint/schemes/compressed_tensors_config.h"
#include "format/checkpoint/schemes/schemes.h"
#include "format/io/errors.h"

namespace dequant::format::checkpoint {
namespace {
namespace compressed_tensors {

constexpr std::string_view kScheme = "compressed_tensors";
constexpr std::array<std::string_view, 1> kMethods{"compressed-tensors"};
constexpr std::string_view kWeight = ".weight";
constexpr std::string_view kPacked = ".weight_packed";
constexpr std::string_view kScale = ".weight_scale";
constexpr int64_t kMostShapeBytes = 64;
constexpr int64_t kMostIndexBytes = int64_t{64} << 20;

/// The tensors of a module; null: the module does not have it.
struct Module {
  std::string name;
  const Entry* weight = nullptr;
  const Entry* packed = nullptr;
  const Entry* scale = nullptr;
  const Entry* zero_point = nullptr;
  const Entry* global_scale = nullptr;
  const Entry* g_idx = nullptr;
  const Entry* shape = nullptr;

  const Entry& codes() const { return packed != nullptr ? *packed : *weight; }
};

/// A type of codes that `weight` may have.
bool is_quantized(const Entry& weight) {
  return weight.dtype() == "I8" || weight.dtype().starts_with("F8_");
}

Module module_named(const Groups& groups, std::string name) {
  Module m;
  m.weight = find(groups, name, kWeight);
  m.packed = find(groups, name, kPacked);
  m.scale = find(groups, name, kScale);
  m.zero_point = find(groups, name, ".weight_zero_point");
  m.global_scale = find(groups, name, ".weight_global_scale");
  m.g_idx = find(groups, name, ".weight_g_idx");
  m.shape = find(groups, name, ".weight_shape");
  m.name = std::move(name);
  return m;
}

class Recogniser {
 public:
  explicit Recogniser(Groups& groups) : groups_(groups) {}

  Status run() {
    DEQUANT_TRY(config_, CtConfig::read(groups_.config()));
    for (const Entry& entry : groups_.shards().entries()) {
      auto packed = module_of(entry.name(), kPacked);
      auto plain = is_quantized(entry) ? module_of(entry.name(), kWeight) : std::nullopt;
      if (!packed && !plain) continue;
      if (plain && find(groups_, *plain, kScale) == nullptr) continue;
      DEQUANT_CHECK(add(module_named(groups_, packed ? *std::move(packed) : *std::move(plain))));
    }
    return refuse_other_codes();
  }

 private:
  Status add(const Module& module) {
    DEQUANT_CHECK(config_.ignored.check_absent(module.codes(), module.name));
    DEQUANT_CHECK(require(groups_, module.codes(), module.name, kScale));
    DEQUANT_TRY(const std::string shape, weight_shape(module));
    DEQUANT_TRY(const bool indexed, is_indexed(module));
    DEQUANT_TRY(Group group, only_group(module, shape, indexed));
    if (module.shape != nullptr) group.also.push_back(module.shape);
    if (module.g_idx != nullptr && !indexed) group.also.push_back(module.g_idx);
    return groups_.add(std::move(group));
  }

  /// The numbers of weight_shape as an option; empty: the module has none.
  Result<std::string> weight_shape(const Module& module) const {
    if (module.shape == nullptr) return std::string();
    DEQUANT_TRY(const auto numbers,
                read_integers(groups_.shards(), *module.shape, kMostShapeBytes));
    return option_of(numbers);
  }

  /// False where columns lie in the order of their groups: there is no index, or it has -1, which
  /// stands for an index that was not set.
  Result<bool> is_indexed(const Module& module) const {
    if (module.g_idx == nullptr) return false;
    DEQUANT_TRY(const auto index, read_integers(groups_.shards(), *module.g_idx, kMostIndexBytes));
    if (std::find(index.begin(), index.end(), -1) != index.end()) return false;
    const int64_t groups = module.scale->shape().empty() ? 0 : module.scale->shape().back();
    for (size_t i = 0; i < index.size(); ++i) {
      if (index[i] >= 0 && index[i] < groups) continue;
      return failure(ErrorCode::malformed, "tensor {}: entry {} is {}, and there are {} groups",
                     escaped(module.g_idx->name()), i, index[i], groups);
    }
    return true;
  }

  /// The only plan that a group of the configuration gives to the tensors of the module.
  Result<Group> only_group(const Module& module, std::string_view shape, bool indexed) {
    std::optional<Error> first;
    std::optional<Group> found;
    const CtGroup* by = nullptr;
    for (const CtGroup* group : config_.groups_of(module.name)) {
      auto dense = group_by(*group, module, shape, indexed);
      if (!dense) {
        if (!first) first = std::move(dense).error();
        continue;
      }
      if (found && (found->plan != dense->plan || found->shape != dense->shape)) {
        return failure(ErrorCode::unsupported,
                       "tensor {}: {} and {} of quantization_config both may describe it",
                       escaped(module.codes().name()), escaped(by->name), escaped(group->name));
      }
      found = *std::move(dense);
      by = group;
    }
    if (found) return *std::move(found);
    if (first) return *std::move(first);
    return failure(ErrorCode::malformed,
                   "tensor {}: no group of quantization_config describes module {}",
                   escaped(module.codes().name()), escaped(module.name));
  }

  Result<Group> group_by(const CtGroup& group, const Module& module, std::string_view shape,
                         bool indexed) {
    DEQUANT_CHECK(check_kind(group, module));
    const std::array tensors{Named{"weight", &module.codes()}, Named{"weight_scale", module.scale},
                             Named{"weight_zero_point", module.zero_point},
                             Named{"weight_global_scale", module.global_scale},
                             Named{"weight_g_idx", indexed ? module.g_idx : nullptr}};
    return groups_.group_of(module.name + std::string(kWeight), kScheme, tensors,
                            group.options(config_.words, shape));
  }

  /// Demands a format that is read, and tensors of the kind that the group has.
  Status check_kind(const CtGroup& group, const Module& module) const {
    if (!group.has_known_format()) {
      return failure(ErrorCode::unsupported, "tensor {}: format \"{}\" of {} is not supported",
                     escaped(module.codes().name()), escaped(group.format), escaped(group.name));
    }
    const bool has_integers = module.codes().dtype().starts_with('I');
    const auto refuse = [&](const std::string& what) {
      return failure(ErrorCode::malformed, "tensor {}: {} of quantization_config has {}",
                     escaped(module.codes().name()), escaped(group.name), what);
    };
    if (has_integers != (group.type == "int")) {
      return refuse(fmt::format("type \"{}\", and the tensor is {}", escaped(group.type),
                                module.codes().dtype()));
    }
    if (!group.symmetric && module.zero_point == nullptr)
      return refuse("zero points (symmetric is false), and the module has none");
    if (group.symmetric && module.zero_point != nullptr && module.zero_point->dtype() == "I32")
      return refuse("no zero points (symmetric is true), and the module has packed ones");
    return {};
  }

  /// Codes under other names than those that are read.
  Status refuse_other_codes() const {
    for (const Entry& entry : groups_.shards().entries()) {
      if (groups_.is_used(entry) || !entry.name().ends_with("_packed")) continue;
      return failure(ErrorCode::unsupported,
                     "tensor {}: packed codes are read only under the name \"X.weight_packed\"",
                     escaped(entry.name()));
    }
    return {};
  }

  Groups& groups_;
  CtConfig config_;
};

}  // namespace compressed_tensors
}  // namespace

const Scheme kCompressedTensors{
    compressed_tensors::kScheme, compressed_tensors::kMethods, nullptr,
    [](Groups& groups) { return compressed_tensors::Recogniser(groups).run(); }};

}  // namespace dequant::format::checkpoint
