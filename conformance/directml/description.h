// One DirectML operator description in the JSON form of DirectML's DxDispatch tool:
//
//   {"Type": "DML_OPERATOR_DEQUANTIZE",
//    "Desc": {"InputTensor": {"DataType": "UINT4", "Sizes": [2, 8]}, "QuantizationType": "SCALE",
//             "QuantizationTensorCount": 1, "QuantizationTensors": [...], ...}}
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dequant/directml.h"

namespace dequant::conformance::directml {

/// A description and all that it points to. It stays where it was made.
class Description {
 public:
  Description() = default;
  Description(const Description&) = delete;
  Description& operator=(const Description&) = delete;

  /// Valid as long as this object. What is in it is for dequant::directml::compile() to judge; its
  /// pointers and counts are sound.
  const DML_OPERATOR_DESC& desc() const { return operator_; }

 private:
  friend class Reader;

  struct Buffer {
    std::vector<UINT> sizes;
    std::vector<UINT> strides;
    DML_BUFFER_TENSOR_DESC desc{};
  };
  // Input, scale, zero point, output; the two in the middle are also an array of quantization
  // tensors.
  static constexpr size_t kTensors = 4;
  std::array<Buffer, kTensors> buffers_;
  std::array<DML_TENSOR_DESC, kTensors> tensors_{};
  DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC element_wise_{};
  DML_DEQUANTIZE_OPERATOR_DESC dequantize_{};
  DML_OPERATOR_DESC operator_{};
};

/// Reads a description. Names may stand with or without their prefix (DML_OPERATOR_, ...). Of a
/// tensor DataType and Sizes must be there; TotalTensorSizeInBytes is computed where it is absent
/// or 0. Fails with malformed on what is not such JSON, on unknown members and on counts that
/// contradict arrays, and with unsupported on operators other than the two that dequantize.
Result<std::unique_ptr<Description>> parse_description(std::string_view text);

/// The same from a file; fails with limit if it is larger than 1 MiB. Messages name the file.
Result<std::unique_ptr<Description>> read_description(const std::string& path);

}  // namespace dequant::conformance::directml
