// One tensor of a DirectML description, checked by the rules for all buffer tensors.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "dequant/tensor.h"
#include "dialect/directml_names.h"

namespace dequant::directml {

/// Dimensions of a tensor at most, by the newest feature level.
inline constexpr uint32_t kMaxRank = 8;

struct Tensor {
  std::string_view name;  ///< the member of the description, for messages
  uint32_t type = 0;      ///< a valid data type
  uint32_t rank = 0;
  std::array<int64_t, kMaxRank> size{};
  std::array<int64_t, kMaxRank> stride{};  ///< set also where the description has none
  uint64_t bytes = 0;                      ///< TotalTensorSizeInBytes

  Shape sizes() const { return {size.data(), rank}; }
  Shape strides() const { return {stride.data(), rank}; }
  /// The element; the type must be one that an operator allows.
  Element element() const { return *find_data_type(type)->element; }
};

enum class Use : uint8_t { input, output };

/// Reads a required tensor. Fails with invalid_argument on a null pointer, on a tensor that is no
/// buffer tensor, and on sizes, strides, flags, alignment or a total size that violate a rule.
Result<Tensor> read_tensor(std::string_view name, const DML_TENSOR_DESC* desc, Use use);

}  // namespace dequant::directml
