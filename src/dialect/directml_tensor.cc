// Sizes, strides and bytes of buffer tensors.
#include "dialect/directml_tensor.h"

#include <algorithm>
#include <bit>
#include <span>

#include "dialect/directml_decisions.h"
#include "text.h"

namespace dequant::directml {
namespace {

std::string shown(std::span<const UINT> values) {
  std::array<int64_t, kMaxRank> wide{};
  const size_t count = std::min<size_t>(values.size(), kMaxRank);
  for (size_t i = 0; i < count; ++i) wide[i] = values[i];
  return to_string(Shape{wide.data(), count});
}

/// The index of the last element, which has 32 bits in DirectML where there are strides.
Result<uint64_t> last_index(std::span<const UINT> sizes, std::span<const UINT> strides) {
  uint64_t index = 0;
  for (size_t d = 0; d < sizes.size(); ++d) {
    index += uint64_t{sizes[d] - 1} * strides[d];  // stays below 2^64 - 2^33
    if (index > UINT32_MAX) {
      return invalid("Strides: ", shown(strides), " for Sizes ", shown(sizes),
                     " reach beyond element 2^32 - 1, the last that an index of 32 bits reaches");
    }
  }
  return index;
}

Result<uint64_t> count_of(std::span<const UINT> sizes) {
  uint64_t count = 1;
  for (const UINT size : sizes) {
    if (__builtin_mul_overflow(count, uint64_t{size}, &count)) {
      return invalid("Sizes: ", shown(sizes), " have more than 2^64 - 1 elements");
    }
  }
  return count;
}

Status check_sizes(std::span<const UINT> sizes) {
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 0) return invalid("Sizes: dimension ", d, " of ", shown(sizes), " is 0");
  }
  return {};
}

Status check_members(const DML_BUFFER_TENSOR_DESC& desc, const DataType& type, Use use) {
  const uint32_t flags = number(desc.Flags);
  const auto owned = uint32_t{DML_TENSOR_FLAG_OWNED_BY_DML};
  if ((flags & ~owned) != 0) return invalid("Flags: ", flags, " has bits that are no flag");
  if (flags != 0 && use == Use::output && !kOutputMayBeOwned) {
    return invalid("Flags: OWNED_BY_DML is for inputs only");
  }
  const UINT alignment = desc.GuaranteedBaseOffsetAlignment;
  const auto least = static_cast<UINT>(type.bits < 8 ? 1 : type.bits / 8);
  if (alignment != 0 && (!std::has_single_bit(alignment) || alignment < least)) {
    return invalid("GuaranteedBaseOffsetAlignment: ", alignment,
                   " is neither 0 nor a power of two of at least ", least, ", the bytes of ",
                   type.name);
  }
  return {};
}

/// Checks elements and bytes; on success sets the sizes and strides of the tensor.
Status read_layout(Tensor& tensor, const DML_BUFFER_TENSOR_DESC& desc) {
  const std::span<const UINT> sizes{desc.Sizes, desc.DimensionCount};
  const std::span<const UINT> strides{desc.Strides,
                                      desc.Strides == nullptr ? 0 : desc.DimensionCount};
  DEQUANT_TRY(const uint64_t least, buffer_tensor_size(desc.DataType, sizes, strides));
  DEQUANT_TRY(const uint64_t count, count_of(sizes));
  if (count > kMaxElements) {
    return invalid("Sizes: ", shown(sizes), " have ", count, " elements; no more than ",
                   kMaxElements, " are allowed");
  }
  if (desc.TotalTensorSizeInBytes < least) {
    return invalid("TotalTensorSizeInBytes: ", desc.TotalTensorSizeInBytes, " is less than ", least,
                   ", which Sizes ", shown(sizes),
                   strides.empty() ? "" : concat(" with Strides ", shown(strides)),
                   " take, rounded up to 4");
  }
  tensor.rank = desc.DimensionCount;
  tensor.bytes = desc.TotalTensorSizeInBytes;
  int64_t packed = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    tensor.size[d] = sizes[d];
    tensor.stride[d] = strides.empty() ? packed : int64_t{strides[d]};
    packed *= sizes[d];
  }
  return {};
}

Result<Tensor> read_buffer(std::string_view name, const DML_TENSOR_DESC* desc, Use use) {
  if (desc == nullptr) return invalid("is null");
  if (number(desc->Type) != uint32_t{DML_TENSOR_TYPE_BUFFER}) {
    return invalid("Type: ", number(desc->Type), " is not DML_TENSOR_TYPE_BUFFER (1)");
  }
  if (desc->Desc == nullptr) {
    return invalid("Desc: is null; it must point to a DML_BUFFER_TENSOR_DESC");
  }
  const auto& buffer = *static_cast<const DML_BUFFER_TENSOR_DESC*>(desc->Desc);
  const DataType* type = find_data_type(number(buffer.DataType));
  if (type == nullptr) {
    return invalid("DataType: ", number(buffer.DataType), " is no known DML_TENSOR_DATA_TYPE");
  }
  // With a larger count the arrays must not be read.
  if (buffer.DimensionCount < 1 || buffer.DimensionCount > kMaxRank) {
    return invalid("DimensionCount: ", buffer.DimensionCount, " is outside [1, ", kMaxRank, "]");
  }
  if (buffer.Sizes == nullptr) return invalid("Sizes: is null");
  DEQUANT_CHECK(check_members(buffer, *type, use));
  Tensor tensor;
  tensor.name = name;
  tensor.type = number(buffer.DataType);
  DEQUANT_CHECK(read_layout(tensor, buffer));
  return tensor;
}

}  // namespace

Result<uint64_t> buffer_tensor_size(DML_TENSOR_DATA_TYPE type, std::span<const UINT> sizes,
                                    std::span<const UINT> strides) {
  const DataType* known = find_data_type(number(type));
  if (known == nullptr) {
    return invalid("DataType: ", number(type), " is no known DML_TENSOR_DATA_TYPE");
  }
  if (sizes.empty() || sizes.size() > kMaxRank) {
    return invalid("DimensionCount: ", sizes.size(), " is outside [1, ", kMaxRank, "]");
  }
  DEQUANT_CHECK(check_sizes(sizes));
  if (!strides.empty() && strides.size() != sizes.size()) {
    return invalid("Strides: ", strides.size(), " of them for ", sizes.size(), " Sizes");
  }
  uint64_t elements = 0;
  if (strides.empty()) {
    DEQUANT_TRY(elements, count_of(sizes));
  } else {
    DEQUANT_TRY(elements, last_index(sizes, strides));
    ++elements;
  }
  const auto width = static_cast<uint64_t>(known->bits);
  uint64_t bits = 0;
  if (__builtin_mul_overflow(elements, width, &bits) || bits > UINT64_MAX - 31) {
    return invalid("Sizes: ", shown(sizes), " of ", known->name, " take more than 2^64 - 1 bits");
  }
  return (bits + 31) / 32 * 4;
}

Result<Tensor> read_tensor(std::string_view name, const DML_TENSOR_DESC* desc, Use use) {
  auto tensor = read_buffer(name, desc, use);
  if (!tensor) return invalid(name, ": ", tensor.error().message);
  return tensor;
}

}  // namespace dequant::directml
