// HQQ: "X.W_q", "X.scale" and "X.zero" become "X.weight". All that describes them is in tensors
// too: integers, and texts as bytes.
#include <fmt/ranges.h>

#include <array>
#include <cstring>

#include "format/checkpoint/modules.h"
#include "format/checkpoint/schemes/schemes.h"
#include "format/io/errors.h"

namespace dequant::format::checkpoint {
namespace {
namespace hqq {

constexpr std::array<std::string_view, 1> kMethods{"hqq"};
constexpr int64_t kMostBytes = int64_t{1} << 16;

/// The tensors that describe the others. The first ones are read.
constexpr std::array<std::string_view, 16> kFields{
    ".nbits",
    ".group_size",
    ".axis",
    ".shape",
    ".packing",
    ".compute_dtype",
    ".quant_scale",
    ".quant_zero",
    ".view_as_float",
    ".channel_wise",
    ".round_zero",
    ".optimize",
    ".offload_meta",
    ".encoded_state_dict",
    ".stores_quant_config",
    ".unpack_view_dtype",
};

/// The layout that HQQ gives to each number of bits.
struct Packing {
  int64_t bits;
  std::string_view name;
};
constexpr std::array kPackings{Packing{1, "1bit_u8"}, Packing{2, "2bit_u8"}, Packing{3, "3bit_32"},
                               Packing{4, "4bit_u8"}, Packing{8, "8bit_u8"}};

template <class T>
std::vector<int64_t> widened(std::span<const std::byte> bytes) {
  std::vector<int64_t> out;
  for (size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    T number;
    std::memcpy(&number, bytes.data() + at, sizeof(T));
    out.push_back(number);
  }
  return out;
}

class Recogniser {
 public:
  explicit Recogniser(Groups& groups) : groups_(groups) {}

  Status run() {
    for (const Entry& entry : groups_.shards().entries()) {
      if (const auto module = module_of(entry.name(), ".W_q")) DEQUANT_CHECK(add(entry, *module));
    }
    return {};
  }

 private:
  Status add(const Entry& codes, const std::string& module) {
    for (const std::string_view flag : {".quant_scale", ".quant_zero", ".view_as_float"}) {
      DEQUANT_TRY(const int64_t is_set, integer(module, flag, 0));
      if (is_set != 0) return refused(module, flag, std::to_string(is_set), "0");
    }
    DEQUANT_TRY(const int64_t channel_wise, integer(module, ".channel_wise", 1));
    if (channel_wise != 1) return refused(module, ".channel_wise", "0", "1");
    DEQUANT_TRY(const int64_t bits, integer(module, ".nbits"));
    DEQUANT_TRY(const int64_t group_size, integer(module, ".group_size"));
    DEQUANT_TRY(const int64_t axis, integer(module, ".axis"));
    DEQUANT_TRY(const Entry* shape_tensor, require(groups_, codes, module, ".shape"));
    DEQUANT_TRY(const auto shape, integers(*shape_tensor));
    DEQUANT_TRY(const Entry* scale, require(groups_, codes, module, ".scale"));
    DEQUANT_TRY(const Entry* zero, require(groups_, codes, module, ".zero"));
    DEQUANT_CHECK(check_packing(module, bits));
    DEQUANT_CHECK(check_type(module, *scale));
    const std::string bits_text = std::to_string(bits);
    const std::string group_size_text = std::to_string(group_size);
    const std::string axis_text = std::to_string(axis);
    const std::string shape_text = fmt::format("{}", fmt::join(shape, ","));
    const std::array options{SchemeOption{"bits", bits_text},
                             SchemeOption{"group_size", group_size_text},
                             SchemeOption{"axis", axis_text}, SchemeOption{"shape", shape_text}};
    const std::array tensors{Named{"W_q", &codes}, Named{"scale", scale}, Named{"zero", zero}};
    // The type of the model is that before it was quantized: HQQ computes in that of the scales.
    DEQUANT_TRY(const Part scales, part_of(*scale));
    const Element own = scales.element;
    DEQUANT_TRY(Group group, groups_.group_of(module + ".weight", "hqq", tensors, options, own));
    for (const std::string_view field : kFields) {
      if (const Entry* entry = find(groups_, module, field)) group.also.push_back(entry);
    }
    return groups_.add(std::move(group));
  }

  Error refused(const std::string& module, std::string_view field, std::string_view value,
                std::string_view allowed) const {
    return failure(ErrorCode::unsupported, "tensor {}{}: {} is not supported, only {}",
                   escaped(module), field, escaped(value), allowed);
  }

  Status check_packing(const std::string& module, int64_t bits) const {
    DEQUANT_TRY(const auto packing, text(module, ".packing"));
    if (!packing) return {};
    for (const Packing& known : kPackings) {
      if (known.bits == bits && known.name == *packing) return {};
    }
    return refused(module, ".packing", *packing, fmt::format("the usual one of {} bits", bits));
  }

  /// Scales and zero points have the type that HQQ computes in.
  Status check_type(const std::string& module, const Entry& scale) const {
    DEQUANT_TRY(const auto type, text(module, ".compute_dtype"));
    const auto element = scale.tensor->dtype->element;
    if (!type || (element && *type == fmt::format("torch.{}", name(*element)))) return {};
    return refused(module, ".compute_dtype", *type, fmt::format("the {} of scale", scale.dtype()));
  }

  Result<std::optional<std::string>> text(const std::string& module, std::string_view end) const {
    const Entry* entry = find(groups_, module, end);
    if (entry == nullptr) return std::optional<std::string>();
    DEQUANT_TRY(const auto bytes, groups_.shards().read(*entry, kMostBytes));
    return std::optional(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }

  Result<std::vector<int64_t>> integers(const Entry& entry) const {
    DEQUANT_TRY(const auto bytes, groups_.shards().read(entry, kMostBytes));
    if (entry.dtype() == "I64") return widened<int64_t>(bytes);
    if (entry.dtype() == "I32") return widened<int32_t>(bytes);
    if (entry.dtype() == "U8" || entry.dtype() == "BOOL") return widened<uint8_t>(bytes);
    return failure(ErrorCode::malformed, "tensor {}: type {} is none of integers",
                   escaped(entry.name()), entry.dtype());
  }

  /// The integer of a tensor, or `otherwise` where there is no tensor.
  Result<int64_t> integer(const std::string& module, std::string_view end,
                          std::optional<int64_t> otherwise = {}) const {
    const Entry* entry = find(groups_, module, end);
    if (entry == nullptr && otherwise) return *otherwise;
    if (entry == nullptr) {
      return failure(ErrorCode::unsupported, "tensor {}.W_q: there is no {}{}", escaped(module),
                     escaped(module), end);
    }
    DEQUANT_TRY(const auto numbers, integers(*entry));
    if (numbers.size() == 1) return numbers[0];
    return failure(ErrorCode::malformed, "tensor {}: {} integers, not one", escaped(entry->name()),
                   numbers.size());
  }

  Groups& groups_;
};

bool is_own(const Groups& /*groups*/, const Entry& entry) {
  const bool holds_codes = entry.dtype() == "U8" || entry.dtype() == "I32";
  return holds_codes && entry.name().ends_with(".W_q");
}

}  // namespace hqq
}  // namespace

const Scheme kHqq{"hqq", hqq::kMethods, &hqq::is_own,
                  [](Groups& groups) { return hqq::Recogniser(groups).run(); }};

}  // namespace dequant::format::checkpoint
