// quanto: "X._data" and "X._scale", or "X._data._data", "X._scale" and "X._shift", become "X".
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "format/checkpoint/modules.h"
#include "format/checkpoint/schemes/schemes.h"
#include "format/checkpoint/section.h"
#include "format/io/errors.h"

namespace dequant::format::checkpoint {
namespace {
namespace quanto {

constexpr std::array<std::string_view, 1> kMethods{"quanto"};
constexpr std::string_view kData = "._data";
constexpr std::string_view kMap = "quanto_qmap.json";
/// Columns of groups: rows of more than the first number are cut into rows of the first that
/// divides them, if any does.
constexpr std::array<int64_t, 4> kGroups{128, 96, 64, 32};

/// The bits of a type such as "qint4" or "qfloat8_e4m3fn"; 0: another name.
int64_t bits_of(std::string_view type) {
  if (type.starts_with("q")) type.remove_prefix(1);
  if (type == "int2") return 2;
  if (type == "int4") return 4;
  return type == "int8" || type.starts_with("float8") ? 8 : 0;
}

/// The columns of rows of `columns` once they are cut into groups.
int64_t grouped(int64_t columns) {
  if (columns <= kGroups[0]) return columns;
  const auto found = std::find_if(kGroups.begin(), kGroups.end(),
                                  [&](int64_t group) { return columns % group == 0; });
  return found == kGroups.end() ? columns : *found;
}

class Recogniser {
 public:
  explicit Recogniser(Groups& groups) : groups_(groups) {}

  Status run() {
    for (const Entry& entry : groups_.shards().entries()) {
      auto name = module_of(entry.name(), kData);
      if (!name) continue;
      if (const auto packed = module_of(*name, kData)) {
        DEQUANT_CHECK(add_packed(entry, *packed));
      } else {
        DEQUANT_TRY(const Entry* scale, require(groups_, entry, *name, "._scale"));
        const std::array tensors{Named{"data", &entry}, Named{"scale", scale}};
        DEQUANT_CHECK(groups_.add(*std::move(name), "quanto", tensors));
      }
    }
    return {};
  }

 private:
  Status add_packed(const Entry& data, const std::string& name) {
    DEQUANT_TRY(const Entry* scale, require(groups_, data, name, "._scale"));
    DEQUANT_TRY(const Entry* shift, require(groups_, data, name, "._shift"));
    DEQUANT_TRY(const int64_t bits, configured_bits(data, name));
    DEQUANT_TRY(const auto shape, shape_of(data, *scale, name));
    const std::string bits_text = std::to_string(bits);
    const std::string shape_text = fmt::format("{}", fmt::join(shape, ","));
    const std::array options{SchemeOption{"bits", bits_text}, SchemeOption{"shape", shape_text}};
    const std::array tensors{Named{"data", &data}, Named{"scale", scale}, Named{"shift", shift}};
    return groups_.add(name, "quanto", tensors,
                       std::span(options).first(shape.empty() ? 1 : options.size()));
  }

  /// The bits that quanto_qmap.json says of the module, or the configuration of all.
  Result<int64_t> configured_bits(const Entry& data, const std::string& name) const {
    const std::string module = name.substr(0, std::min(name.size(), name.rfind('.')));
    const Section map(groups_.config().file(kMap), kMap);
    DEQUANT_TRY(const Section own, map.object(module));
    DEQUANT_TRY(const auto type, own.text("weights"));
    const Section config(groups_.config().quantization(), "config.json");
    DEQUANT_TRY(auto of_all, config.text("weights"));
    if (!of_all) {
      DEQUANT_TRY(of_all, config.text("weights_dtype"));  // of diffusers
    }
    const std::string text = type ? *type : of_all.value_or("");
    const int64_t bits = bits_of(text);
    if (bits == 2 || bits == 4) return bits;
    return failure(text.empty() ? ErrorCode::unsupported : ErrorCode::malformed,
                   "tensor {}: its codes have 2 or 4 bits, and {} says {}", escaped(data.name()),
                   kMap, text.empty() ? "nothing of the module" : escaped(text));
  }

  /// The shape of the dense weight, which is not stored: rows may be groups of longer rows. The
  /// bias has the number of rows. Nothing where rows are no groups.
  Result<std::vector<int64_t>> shape_of(const Entry& data, const Entry& scale,
                                        const std::string& name) {
    const Shape stored = data.shape();
    const bool is_matrix = stored.size() == 2 && scale.shape().size() == 2;
    if (!is_matrix || std::find(kGroups.begin(), kGroups.end(), stored[1]) == kGroups.end())
      return std::vector<int64_t>();
    const auto module = module_of(name, ".weight");
    const Entry* bias = module ? find(groups_, *module, ".bias") : nullptr;
    if (bias == nullptr || bias->shape().size() != 1) {
      return failure(ErrorCode::unsupported,
                     "tensor {}: its shape is not stored, and no bias says how many rows the {} "
                     "groups of {} come from",
                     escaped(name), scale.shape()[0], stored[1]);
    }
    const int64_t rows = bias->shape()[0];
    const int64_t groups = scale.shape()[0];
    const int64_t of_row = rows > 0 && groups % rows == 0 ? groups / rows : 0;
    // Each row has `of_row` groups: no more than the tensor has bytes.
    if (of_row == 0 || grouped(of_row * stored[1]) != stored[1]) {
      return failure(ErrorCode::malformed,
                     "tensor {}: {} groups of {} are no rows of the {} that its bias has",
                     escaped(name), groups, stored[1], rows);
    }
    if (of_row > 1) {
      groups_.warn(fmt::format(
          "tensor {}: its shape is not stored; [{}, {}] follows from its bias, if it is a matrix: "
          "the weight of a convolution has the same rows, each in the shape of its kernel",
          escaped(name), rows, of_row * stored[1]));
    }
    return std::vector<int64_t>{rows, of_row * stored[1]};
  }

  Groups& groups_;
};

bool is_own(const Groups& groups, const Entry& entry) {
  const auto name = module_of(entry.name(), kData);
  const auto packed = name ? module_of(*name, kData) : std::nullopt;
  return name && find(groups, packed ? *packed : *name, "._scale") != nullptr;
}

}  // namespace quanto
}  // namespace

const Scheme kQuanto{"quanto", quanto::kMethods, &quanto::is_own,
                     [](Groups& groups) { return quanto::Recogniser(groups).run(); }};

}  // namespace dequant::format::checkpoint
