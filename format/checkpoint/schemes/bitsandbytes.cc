// bitsandbytes: "X", "X.absmax", "X.quant_map" and "X.quant_state.bitsandbytes__nf4", a JSON text,
// become "X"; of LLM.int8 "X.weight" and "X.SCB". GPTQModel writes "X_absmax", "X_quant_map" and
// "X_quant_state", and "X.weight_scb".
#include "dequant/bitsandbytes.h"

#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <cstring>

#include "format/checkpoint/modules.h"
#include "format/checkpoint/schemes/schemes.h"
#include "format/checkpoint/section.h"
#include "format/io/errors.h"
#include "format/json/json.h"

namespace dequant::format::checkpoint {
namespace {
namespace bnb {

constexpr std::array<std::string_view, 1> kMethods{"bitsandbytes"};
constexpr std::array<std::string_view, 2> kTypes{"nf4", "fp4"};
constexpr std::string_view kState = ".quant_state.bitsandbytes__";
constexpr std::string_view kStateOfGptqModel = "_quant_state";
constexpr int64_t kMostStateBytes = int64_t{1} << 20;

/// "X" of "X.quant_state.bitsandbytes__nf4".
std::optional<std::string> weight_of(std::string_view name) {
  for (const std::string_view type : kTypes) {
    if (auto weight = module_of(name, std::string(kState) + std::string(type))) return weight;
  }
  return {};
}

/// A weight of 4 bits, and the tensors beside it.
struct Weight {
  const Entry& state;
  std::string name;
  char separator = '.';  ///< before the names of what is beside it

  std::string beside(std::string_view what) const { return fmt::format("{}{}", separator, what); }
};

/// The member of a state that must be there.
template <class T>
Result<T> need(const Section& state, std::string_view key, Result<std::optional<T>> value) {
  if (value && !*value) return state.wrong(key, "given, as it must be");
  if (!value) return std::move(value).error();
  return **std::move(value);
}

class Recogniser {
 public:
  explicit Recogniser(Groups& groups) : groups_(groups) {}

  Status run() {
    for (const Entry& entry : groups_.shards().entries()) {
      if (const auto name = weight_of(entry.name())) {
        DEQUANT_CHECK(add_4bit({entry, *name}));
      } else if (const auto other = module_of(entry.name(), kStateOfGptqModel)) {
        DEQUANT_CHECK(add_4bit({entry, *other, '_'}));
      }
      for (const std::string_view scale : {".SCB", ".weight_scb"}) {
        if (const auto module = module_of(entry.name(), scale))
          DEQUANT_CHECK(add_int8(entry, *module));
      }
    }
    return {};
  }

 private:
  Status add_4bit(const Weight& of) {
    const Entry& entry = of.state;
    const std::string& name = of.name;
    DEQUANT_TRY(const auto bytes, groups_.shards().read(entry, kMostStateBytes));
    const std::string where = fmt::format("tensor {}", escaped(entry.name()));
    auto json = parse_ordered_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    if (!json) return in(where, std::move(json).error());
    const Section state(&*json, where);
    DEQUANT_TRY(const auto type, need(state, "quant_type", state.text("quant_type")));
    if (of.separator == '.' && !entry.name().ends_with(type))
      return state.wrong("quant_type", "the type in its name");
    if (!contains(kTypes, type)) return state.wrong("quant_type", "one of nf4, fp4");
    DEQUANT_TRY(const int64_t blocksize, need(state, "blocksize", state.integer("blocksize")));
    DEQUANT_TRY(const auto dtype, need(state, "dtype", state.text("dtype")));
    const auto output = element_from_name(dtype);
    if (!output || !is_output(*output))
      return state.wrong("dtype", "one of float32, float16, bfloat16");
    DEQUANT_TRY(const auto shape, state.integers("shape"));
    if (!state.has("shape")) return state.wrong("shape", "a list of integers");
    DEQUANT_TRY(const Entry* weight, require(groups_, entry, name, ""));
    DEQUANT_TRY(const Entry* absmax, require(groups_, entry, name, of.beside("absmax")));
    DEQUANT_TRY(const Entry* map, require(groups_, entry, name, of.beside("quant_map")));
    DEQUANT_TRY(const auto scales, scales_of(of, *absmax, state));
    const std::string shape_text = fmt::format("{}", fmt::join(shape, ","));
    const std::string blocksize_text = std::to_string(blocksize);
    const std::array options{SchemeOption{"blocksize", blocksize_text},
                             SchemeOption{"shape", shape_text}};
    DEQUANT_TRY(const Part table, table_of(*map, type));
    const std::array tensors{Named{"weight", weight}, Named{"absmax", absmax, scales},
                             Named{"quant_map", map, table}};
    DEQUANT_TRY(Group group, groups_.group_of(name, "bitsandbytes", tensors, options, output));
    group.also.push_back(&entry);
    if (table.entry == nullptr) group.also.push_back(map);
    return groups_.add(std::move(group));
  }

  /// The values of codes as stored, but for code 8 of fp4: bitsandbytes' kernels, which do not read
  /// the table, give -0 for it.
  Result<Part> table_of(const Entry& map, std::string_view type) const {
    DEQUANT_TRY(Part stored, part_of(map));
    std::array<float, 16> values;
    if (type != "fp4" || stored.element != Element::float32 || stored.count != std::ssize(values))
      return stored;
    DEQUANT_TRY(const auto bytes, groups_.shards().read(map, map.tensor->bytes));
    std::memcpy(values.data(), bytes.data(), sizeof values);
    if (values[8] == 0) values[8] = -0.0F;
    return part_of(std::span<const float>(values));
  }

  /// Scales that are quantized themselves; nothing for others.
  Result<std::optional<Part>> scales_of(const Weight& of, const Entry& absmax,
                                        const Section& state) const {
    const Entry& entry = of.state;
    const bool nested = state.has("nested_blocksize") || state.has("nested_offset");
    if (nested != (absmax.dtype() == "U8")) {
      return failure(ErrorCode::malformed, "tensor {}: type {}, and {} {} double quantization",
                     escaped(absmax.name()), absmax.dtype(), escaped(entry.name()),
                     nested ? "has" : "has no");
    }
    if (!nested) return std::optional<Part>();
    DEQUANT_TRY(const auto dtype, need(state, "nested_dtype", state.text("nested_dtype")));
    if (dtype != "float32") return state.wrong("nested_dtype", "float32");
    DEQUANT_TRY(const int64_t blocksize,
                need(state, "nested_blocksize", state.integer("nested_blocksize")));
    DEQUANT_TRY(const double number, need(state, "nested_offset", state.number("nested_offset")));
    const auto offset = static_cast<float>(number);
    if (!std::isfinite(offset)) return state.wrong("nested_offset", "a float32");
    DEQUANT_TRY(const Entry* scale, require(groups_, entry, of.name, of.beside("nested_absmax")));
    DEQUANT_TRY(const Entry* map, require(groups_, entry, of.name, of.beside("nested_quant_map")));
    Inputs inputs{.codes = part_of(absmax, Element::uint8),
                  .zero_point = part_of(std::span(&offset, 1))};
    DEQUANT_TRY(inputs.scale, part_of(*scale));
    DEQUANT_TRY(inputs.codebook, part_of(*map));
    const auto type_of = [](const Part& part) { return TensorType{part.element, part.shape()}; };
    auto plan = bitsandbytes::dequantize(bitsandbytes::DequantizeAbsmax{
        type_of(inputs.codes), type_of(inputs.scale), type_of(inputs.codebook),
        type_of(inputs.zero_point), blocksize, Element::float32});
    if (!plan) {
      return failure(ErrorCode::malformed, "tensor {}: {}", escaped(of.name), plan.error().message);
    }
    DEQUANT_TRY(Part part, computed_part(*std::move(plan), std::move(inputs)));
    return std::optional(std::move(part));
  }

  Status add_int8(const Entry& scb, const std::string& module) {
    DEQUANT_TRY(const Entry* weight, require(groups_, scb, module, ".weight"));
    const Entry* format = find(groups_, module, ".weight_format");
    DEQUANT_CHECK(check_rows(format));
    const std::array tensors{Named{"weight", weight}, Named{"SCB", &scb}};
    // The dequantizer of bitsandbytes computes float32, which loaders round to the model's type.
    DEQUANT_TRY(Group group, groups_.group_of(module + ".weight", "bitsandbytes_int8", tensors));
    if (format != nullptr) group.also.push_back(format);
    return groups_.add(std::move(group));
  }

  /// Other layouts of int8 weights were for old GPUs, and are not saved any more.
  Status check_rows(const Entry* format) const {
    if (format == nullptr) return {};
    DEQUANT_TRY(const auto bytes, groups_.shards().read(*format, kMostStateBytes));
    if (bytes.size() != 1 || bytes[0] != std::byte{0}) {
      return failure(ErrorCode::unsupported,
                     "tensor {}: only the layout 0, rows, is supported, not {}",
                     escaped(format->name()), bytes.size() == 1 ? static_cast<int>(bytes[0]) : -1);
    }
    return {};
  }

  Groups& groups_;
};

bool is_own(const Groups& /*groups*/, const Entry& entry) {
  return weight_of(entry.name()).has_value();
}

}  // namespace bnb
}  // namespace

const Scheme kBitsandbytes{"bitsandbytes", bnb::kMethods, &bnb::is_own,
                           [](Groups& groups) { return bnb::Recogniser(groups).run(); }};

}  // namespace dequant::format::checkpoint
