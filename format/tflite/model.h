// The structure of a TFLite model: the fields of its tables that dequant needs.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "format/tflite/flatbuffer.h"

namespace dequant::format::tflite {

/// The identifier of the file, and the version of the schema.
inline constexpr std::string_view kIdentifier = "TFL3";
inline constexpr uint32_t kVersion = 3;

/// The custom operator of AI Edge Quantizer that rotates the inputs of rotated weights.
inline constexpr std::string_view kRotation = "aeq.hadamard_rotation";

struct Blockwise {
  int32_t scales = -1;       ///< an index of the subgraph's tensors
  int32_t zero_points = -1;  ///< the same; -1: there are none
  int32_t block_size = 0;
  Numbers<int32_t> block_shape;  ///< empty: blocks are parts of rows
};

/// QuantizationParameters.
struct Quantization {
  Numbers<float> scale;
  Numbers<int64_t> zero_point;
  int32_t dimension = 0;  ///< quantized_dimension
  uint8_t details = 0;    ///< details_type
  Blockwise blockwise;    ///< where `details` says so
};

struct Tensor {
  std::string_view name;
  uint8_t type = 0;  ///< TensorType
  Numbers<int32_t> shape;
  uint32_t buffer = 0;
  uint32_t external_buffer = 0;  ///< 0: the data are not in another file
  bool sparse = false;
  Quantization quantization;
};

struct Subgraph {
  std::string_view name;
  std::vector<Tensor> tensors;
  size_t operators = 0;
};

/// Texts and numbers are valid as long as it exists.
struct Model {
  std::unique_ptr<Flatbuffer> flatbuffer;
  std::string_view description;
  std::vector<std::string_view> metadata;  ///< names
  bool has_rotation = false;               ///< there is a kRotation
  std::vector<Bytes> buffers;              ///< where their data are; empty for those without data
  std::vector<Subgraph> subgraphs;
};

/// Reads and checks the structure: every index and every range of data is within the model. The
/// file must outlive the model. The structure may need `memory` bytes. Fails with malformed,
/// unsupported for other versions of the schema, limit, out_of_memory and io. Messages name the
/// table.
Result<Model> read_model(const InputFile& file, int64_t memory);

}  // namespace dequant::format::tflite
