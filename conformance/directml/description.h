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

/// A description and the structures that its pointers refer to. It cannot be copied or moved.
class Description {
 public:
  Description() = default;
  Description(const Description&) = delete;
  Description& operator=(const Description&) = delete;

  /// The description, valid as long as this object. Its pointers and counts are valid; all other
  /// values are for dequant::directml::compile() to check.
  const DML_OPERATOR_DESC& desc() const { return operator_; }

 private:
  friend class Reader;

  struct Buffer {
    std::vector<UINT> sizes;
    std::vector<UINT> strides;
    DML_BUFFER_TENSOR_DESC desc{};
  };
  // Input, scale, zero point, output. Scale and zero point are adjacent, so that they are also the
  // array of quantization tensors.
  static constexpr size_t kTensors = 4;
  std::array<Buffer, kTensors> buffers_;
  std::array<DML_TENSOR_DESC, kTensors> tensors_{};
  DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC element_wise_{};
  DML_DEQUANTIZE_OPERATOR_DESC dequantize_{};
  DML_OPERATOR_DESC operator_{};
};

/// Reads a description. Enumerators may have their prefix (DML_OPERATOR_, ...) or not. A tensor
/// must have DataType and Sizes; TotalTensorSizeInBytes is computed where it is absent or 0. Fails
/// with malformed on text that is no such JSON, on unknown members, and on counts that differ from
/// the length of their array. Fails with unsupported on operators other than the two that
/// dequantize.
Result<std::unique_ptr<Description>> parse_description(std::string_view text);

/// Reads a description from a file. Fails as parse_description() does, with limit if the file is
/// larger than 1 MiB, and with io. Messages name the file.
Result<std::unique_ptr<Description>> read_description(const std::string& path);

}  // namespace dequant::conformance::directml
