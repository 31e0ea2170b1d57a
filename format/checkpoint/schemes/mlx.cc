// MLX: "X.weight" of type U32, "X.scales" and, of affine weights, "X.biases" become "X.weight".
#include <array>
#include <nlohmann/json.hpp>

#include "format/checkpoint/modules.h"
#include "format/checkpoint/schemes/schemes.h"
#include "format/checkpoint/section.h"
#include "format/io/errors.h"

namespace dequant::format::checkpoint {
namespace {

/// Neither config.json nor a file of MLX has a quant_method.
constexpr std::array<std::string_view, 0> kMethods{};
constexpr std::string_view kWhere = "config.json: quantization";

/// The weight of a module that has codes of MLX, or null. `scales` is its tensor of that name.
const Entry* weight_of(const Groups& groups, const Entry& scales) {
  const auto module = module_of(scales.name(), ".scales");
  const Entry* weight = module ? find(groups, *module, ".weight") : nullptr;
  return weight != nullptr && weight->dtype() == "U32" ? weight : nullptr;
}

/// How a module is quantized.
struct Settings {
  std::string mode;
  int64_t bits = 0;
  int64_t group_size = 0;
};

/// The bits and the group size of a module, or else of the whole model.
Result<Settings> settings_of(const Section& section, const Section& whole) {
  const auto both = [&](std::string_view key) -> Result<int64_t> {
    DEQUANT_TRY(const auto own, section.integer(key));
    DEQUANT_TRY(const auto other, whole.integer(key));
    if (own || other) return own ? *own : *other;
    return whole.wrong(key, "an integer");
  };
  Settings s;
  DEQUANT_TRY(const auto own, section.text("mode"));
  DEQUANT_TRY(const auto other, whole.text("mode"));
  s.mode = own ? *own : other.value_or("affine");
  DEQUANT_TRY(s.bits, both("bits"));
  DEQUANT_TRY(s.group_size, both("group_size"));
  return s;
}

class Recogniser {
 public:
  explicit Recogniser(Groups& groups) : groups_(groups), whole_(nullptr, kWhere) {}

  Status run() {
    DEQUANT_TRY(const Section document,
                Section(&groups_.config().document(), "config.json").object("quantization"));
    whole_ = document;
    for (const Entry& scales : groups_.shards().entries()) {
      if (const Entry* weight = weight_of(groups_, scales))
        DEQUANT_CHECK(add(*weight, scales, *module_of(scales.name(), ".scales")));
    }
    return {};
  }

 private:
  Status add(const Entry& weight, const Entry& scales, const std::string& module) {
    if (!whole_.has("bits") && !whole_.has(module)) {
      return failure(ErrorCode::unsupported,
                     "tensor {}: the bits of its codes are not stored, and there is no "
                     "config.json with quantization that says them",
                     escaped(weight.name()));
    }
    if (const auto* own = whole_.find(module); own != nullptr && own->is_boolean() && !*own) {
      return failure(ErrorCode::malformed, "tensor {}: it has codes, and {} is false in {}",
                     escaped(weight.name()), escaped(module), kWhere);
    }
    if (const Entry* factor = find(groups_, module, ".global_scale")) {
      return failure(ErrorCode::unsupported, "tensor {}: scales of whole tensors are not supported",
                     escaped(factor->name()));
    }
    DEQUANT_TRY(const Section own, whole_.object(module));
    DEQUANT_TRY(const Settings s, settings_of(own, whole_));
    const std::string bits = std::to_string(s.bits);
    const std::string group_size = std::to_string(s.group_size);
    const std::array options{SchemeOption{"mode", s.mode}, SchemeOption{"bits", bits},
                             SchemeOption{"group_size", group_size}};
    const std::array tensors{Named{"weight", &weight}, Named{"scales", &scales},
                             Named{"biases", find(groups_, module, ".biases")}};
    return groups_.add(std::string(weight.name()), "mlx", tensors, options);
  }

  Groups& groups_;
  Section whole_;
};

bool is_own(const Groups& groups, const Entry& entry) {
  return weight_of(groups, entry) != nullptr;
}

}  // namespace

const Scheme kMlx{"mlx", kMethods, &is_own,
                  [](Groups& groups) { return Recogniser(groups).run(); }};

}  // namespace dequant::format::checkpoint
