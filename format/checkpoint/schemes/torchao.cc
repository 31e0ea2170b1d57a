// torchao: the metadata of the files has a JSON text for each tensor "X.weight", which is stored as
// "X._weight_qdata", "X._weight_scale" and "X._weight_zero_point".
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "format/checkpoint/modules.h"
#include "format/checkpoint/schemes/schemes.h"
#include "format/checkpoint/section.h"
#include "format/io/errors.h"
#include "format/json/json.h"

namespace dequant::format::checkpoint {
namespace {
namespace torchao {

constexpr std::array<std::string_view, 1> kMethods{"torchao"};
constexpr std::array<std::string_view, 3> kTypes{"Float8Tensor", "Int8Tensor",
                                                 "IntxUnpackedToInt8Tensor"};
constexpr std::array<std::string_view, 3> kParts{"qdata", "scale", "zero_point"};

/// The beginning of the names of the parts: "X._weight_" of "X.weight".
std::string prefix_of(std::string_view name) {
  const auto dot = name.rfind('.');
  const auto module = dot == name.npos ? std::string_view() : name.substr(0, dot + 1);
  return fmt::format("{}_{}_", module, name.substr(module.size()));
}

class Recogniser {
 public:
  explicit Recogniser(Groups& groups) : groups_(groups) {}

  Status run() {
    for (const Shard& shard : groups_.shards().files()) {
      for (const auto& pair : shard.header.metadata()) {
        // Other keys say what wrote the file, and which tensors there are.
        if (pair.key() == "format" || pair.key() == "tensor_names") continue;
        if (pair.value().starts_with('{')) DEQUANT_CHECK(read(pair.key(), pair.value()));
      }
    }
    return {};
  }

 private:
  Status read(std::string_view name, std::string_view text) {
    const std::string where = fmt::format("metadata of {}", escaped(name));
    auto json = parse_ordered_json(text);
    if (!json) return in(where, std::move(json).error());
    const Section section(&*json, where);
    DEQUANT_TRY(const auto type, section.text("_type"));
    if (!type || *type == "Tensor") return {};
    if (std::find(kTypes.begin(), kTypes.end(), *type) == kTypes.end()) {
      return failure(ErrorCode::unsupported, "tensor {}: {} of torchao is not supported",
                     escaped(name), escaped(*type));
    }
    DEQUANT_TRY(const Section data, section.object("_data"));
    return add(name, section, data);
  }

  Status add(std::string_view name, const Section& section, const Section& data) {
    const std::string prefix = prefix_of(name);
    const Entry* qdata = groups_.find(prefix + "qdata");
    if (qdata == nullptr) {
      return failure(ErrorCode::malformed, "tensor {}: there is no {}qdata", escaped(name),
                     escaped(prefix));
    }
    DEQUANT_CHECK(check_parts(name, section));
    DEQUANT_TRY(const auto block, data.integers("block_size"));
    const std::string block_text = fmt::format("{}", fmt::join(block, ","));
    const std::array options{SchemeOption{"block_size", block_text}};
    const std::array tensors{Named{"qdata", qdata}, Named{"scale", groups_.find(prefix + "scale")},
                             Named{"zero_point", groups_.find(prefix + "zero_point")}};
    DEQUANT_TRY(const Element output, output_of(data));
    return groups_.add(std::string(name), "torchao", tensors, options, output);
  }

  static Status check_parts(std::string_view name, const Section& section) {
    const auto* parts = section.find("_tensor_data_names");
    if (parts == nullptr || !parts->is_array())
      return section.wrong("_tensor_data_names", "a list of names");
    for (const auto& part : *parts) {
      const std::string text = part.is_string() ? part.get<std::string>() : part.dump();
      if (std::find(kParts.begin(), kParts.end(), text) != kParts.end()) continue;
      return failure(ErrorCode::unsupported, "tensor {}: a part {} is not supported", escaped(name),
                     escaped(text));
    }
    return {};
  }

  /// The type that the tensor's own dequantize() returns.
  static Result<Element> output_of(const Section& data) {
    DEQUANT_TRY(const Section dtype, data.object("dtype"));
    DEQUANT_TRY(const auto text, dtype.text("_data"));
    const auto type = element_from_name(text.value_or(""));
    if (type && is_output(*type)) return *type;
    return data.wrong("dtype", "one of float32, float16, bfloat16");
  }

  Groups& groups_;
};

bool has_metadata(const Shards& shards) {
  for (const Shard& shard : shards.files()) {
    for (const auto& pair : shard.header.metadata()) {
      if (is_entry_of_torchao(pair.value())) return true;
    }
  }
  return false;
}

}  // namespace torchao
}  // namespace

bool is_entry_of_torchao(std::string_view value) {
  return value.find("\"_tensor_data_names\"") != std::string_view::npos;
}

const Scheme kTorchao{"torchao", torchao::kMethods, nullptr,
                      [](Groups& groups) { return torchao::Recogniser(groups).run(); },
                      &torchao::has_metadata};

}  // namespace dequant::format::checkpoint
