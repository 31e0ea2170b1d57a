// One tensor of a DirectML description, checked by the rules that hold for any buffer tensor.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "dequant/tensor.h"
#include "dialect/directml_names.h"

namespace dequant::directml {

/// Dimensions of a tensor: as many as the newest feature level allows.
inline constexpr uint32_t kMaxRank = 8;

struct Tensor {
  std::string_view name;  ///< the member of the description, for messages
  uint32_t type = 0;      ///< a known one
  uint32_t rank = 0;
  std::array<int64_t, kMaxRank> size{};
  std::array<int64_t, kMaxRank> stride{};  ///< the packed ones where the description has none
  uint64_t bytes = 0;                      ///< TotalTensorSizeInBytes

  Shape sizes() const { return {size.data(), rank}; }
  Shape strides() const { return {stride.data(), rank}; }
  /// Of a type that some operator takes.
  Element element() const { return *find_data_type(type)->element; }
};

enum class Use : uint8_t { input, output };

/// Reads a tensor that must be there. Fails with invalid_argument on a null pointer, on what is not
/// a buffer tensor, on sizes, strides, flags, alignment and total size that break a rule.
Result<Tensor> read_tensor(std::string_view name, const DML_TENSOR_DESC* desc, Use use);

}  // namespace dequant::directml
