// Makes DirectML's structures of a node. They have pointers to each other, so all are on one stack
// frame.
#include "conformance/directml/node.h"

#include <algorithm>
#include <array>

#include "conformance/directml/names.h"
#include "format/io/errors.h"

namespace dequant::conformance::directml {

using format::failure;

namespace {

constexpr auto kLevels = std::to_array<Named<DML_FEATURE_LEVEL>>({
    {"1_0", DML_FEATURE_LEVEL_1_0},
    {"2_0", DML_FEATURE_LEVEL_2_0},
    {"2_1", DML_FEATURE_LEVEL_2_1},
    {"3_0", DML_FEATURE_LEVEL_3_0},
    {"3_1", DML_FEATURE_LEVEL_3_1},
    {"4_0", DML_FEATURE_LEVEL_4_0},
    {"4_1", DML_FEATURE_LEVEL_4_1},
    {"5_0", DML_FEATURE_LEVEL_5_0},
    {"5_1", DML_FEATURE_LEVEL_5_1},
    {"5_2", DML_FEATURE_LEVEL_5_2},
    {"6_0", DML_FEATURE_LEVEL_6_0},
    {"6_1", DML_FEATURE_LEVEL_6_1},
    {"6_2", DML_FEATURE_LEVEL_6_2},
    {"6_3", DML_FEATURE_LEVEL_6_3},
    {"6_4", DML_FEATURE_LEVEL_6_4},
});

constexpr auto kOperators = std::to_array<Named<DML_OPERATOR_TYPE>>({
    {"ELEMENT_WISE_DEQUANTIZE_LINEAR", DML_OPERATOR_ELEMENT_WISE_DEQUANTIZE_LINEAR},
    {"DEQUANTIZE", DML_OPERATOR_DEQUANTIZE},
});

constexpr auto kQuantizations = std::to_array<Named<DML_QUANTIZATION_TYPE>>({
    {"NONE", DML_QUANTIZATION_TYPE_NONE},
    {"SCALE", DML_QUANTIZATION_TYPE_SCALE},
    {"SCALE_ZERO_POINT", DML_QUANTIZATION_TYPE_SCALE_ZERO_POINT},
});

template <class Table>
auto find(const Table& table, std::string_view name) {
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const auto& row) { return row.name == name; });
  return found == table.end() ? std::nullopt : std::optional(found->value);
}

std::optional<DML_TENSOR_DATA_TYPE> data_type(Element element) {
  switch (element) {
    case Element::float32: return DML_TENSOR_DATA_TYPE_FLOAT32;
    case Element::float16: return DML_TENSOR_DATA_TYPE_FLOAT16;
    case Element::uint32: return DML_TENSOR_DATA_TYPE_UINT32;
    case Element::uint16: return DML_TENSOR_DATA_TYPE_UINT16;
    case Element::uint8: return DML_TENSOR_DATA_TYPE_UINT8;
    case Element::int32: return DML_TENSOR_DATA_TYPE_INT32;
    case Element::int16: return DML_TENSOR_DATA_TYPE_INT16;
    case Element::int8: return DML_TENSOR_DATA_TYPE_INT8;
    case Element::uint4: return DML_TENSOR_DATA_TYPE_UINT4;
    case Element::int4: return DML_TENSOR_DATA_TYPE_INT4;
    default: return std::nullopt;
  }
}

Result<std::vector<UINT>> narrowed(std::string_view what, Shape values) {
  std::vector<UINT> out;
  for (const int64_t v : values) {
    if (v < 0 || v > int64_t{UINT32_MAX}) {
      return failure(ErrorCode::invalid_argument, "{}: {} in dimension {} is beyond 32 bits", what,
                     v, out.size());
    }
    out.push_back(static_cast<UINT>(v));
  }
  return out;
}

/// A tensor's description and the memory of its pointers. It must not move after fill().
struct Tensor {
  std::vector<UINT> sizes;
  std::vector<UINT> strides;
  DML_BUFFER_TENSOR_DESC buffer{};
  DML_TENSOR_DESC desc{};

  Status fill(std::string_view name, const NodeTensor& tensor) {
    const auto type = data_type(tensor.type.element);
    if (!type) {
      return failure(ErrorCode::invalid_argument, "{}: DirectML has no type {}", name,
                     dequant::name(tensor.type.element));
    }
    DEQUANT_TRY(sizes, narrowed(fmt::format("{}: Sizes", name), tensor.type.shape));
    if (tensor.strides) {
      DEQUANT_TRY(strides, narrowed(fmt::format("{}: Strides", name), *tensor.strides));
      if (strides.size() != sizes.size()) {
        return failure(ErrorCode::invalid_argument, "{}: {} Strides for {} Sizes", name,
                       strides.size(), sizes.size());
      }
    }
    buffer.DataType = *type;
    buffer.DimensionCount = static_cast<UINT>(sizes.size());
    buffer.Sizes = sizes.data();
    buffer.Strides = tensor.strides ? strides.data() : nullptr;
    desc = {DML_TENSOR_TYPE_BUFFER, &buffer};
    return set_size(tensor);
  }

 private:
  /// Only checks that numbers have at most 32 bits: all rules on sizes and strides are in
  /// compile().
  Status set_size(const NodeTensor& tensor) {
    if (tensor.stored) {
      DEQUANT_TRY(const int64_t bytes, packed_bytes(tensor.type.element, *tensor.stored));
      buffer.TotalTensorSizeInBytes = (static_cast<uint64_t>(bytes) + 3) / 4 * 4;
    } else if (const auto bytes =
                   dequant::directml::buffer_tensor_size(buffer.DataType, sizes, strides)) {
      buffer.TotalTensorSizeInBytes = *bytes;
    }
    return {};
  }
};

}  // namespace

Result<dequant::directml::Operator> compile(const Node& node, DML_FEATURE_LEVEL level) {
  Tensor x, scale, zero_point, y;
  DEQUANT_CHECK(x.fill("x", node.x));
  DEQUANT_CHECK(scale.fill("scale", node.scale));
  if (node.zero_point) DEQUANT_CHECK(zero_point.fill("zero_point", *node.zero_point));
  DEQUANT_CHECK(y.fill("y", {{node.scale.type.element, node.x.type.shape}, {}, {}}));
  if (node.type == DML_OPERATOR_ELEMENT_WISE_DEQUANTIZE_LINEAR) {
    const DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC desc{
        &x.desc, &scale.desc, node.zero_point ? &zero_point.desc : nullptr, &y.desc};
    return dequant::directml::compile({node.type, &desc}, level);
  }
  const std::array params{scale.desc, zero_point.desc};
  const DML_DEQUANTIZE_OPERATOR_DESC desc{&x.desc, node.quantization, node.zero_point ? 2u : 1u,
                                          params.data(), &y.desc};
  return dequant::directml::compile({node.type, &desc}, level);
}

std::optional<DML_FEATURE_LEVEL> feature_level_from_name(std::string_view name) {
  return find(kLevels, name);
}

std::optional<DML_OPERATOR_TYPE> operator_from_name(std::string_view name) {
  return find(kOperators, name);
}

std::optional<DML_QUANTIZATION_TYPE> quantization_from_name(std::string_view name) {
  return find(kQuantizations, name);
}

std::vector<std::string> feature_levels() {
  std::vector<std::string> names;
  for (const auto& row : kLevels) names.emplace_back(row.name);
  return names;
}

}  // namespace dequant::conformance::directml
