// The constant tensors of a TFLite model, and what becomes of each.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "dequant/plan.h"
#include "format/model/stored_reader.h"
#include "format/model/warnings.h"
#include "format/tflite/model.h"
#include "format/tflite/types.h"

namespace dequant::format::tflite {

/// Packed numbers in the file, as a plan reads them.
struct Stored {
  std::string_view name;  ///< empty: it is no tensor of its own
  Bytes data;
  Element element = Element::int8;
  std::vector<int64_t> shape;
  int64_t count = 0;
  bool int64 = false;  ///< the file has numbers of 64 bits, all within `element`
};

/// The table of the schema for scales in a tensor of their own.
inline constexpr std::string_view kBlockwise = "BlockwiseQuantization";

/// How the floats of a tensor are computed.
struct Computed {
  Plan plan;
  std::optional<int64_t> axis;
  std::string_view scheme;  ///< the table of the schema that has the parameters
  Stored codes;
  Stored scale;
  std::optional<Stored> zero_point;  ///< none: all are 0
};

enum class Use : uint8_t {
  computed,   ///< the tensor becomes floats
  copied,     ///< the output has it as it is stored
  left,       ///< the tensor stays quantized, or sparse: it cannot be read exactly
  dropped,    ///< safetensors files have no such type
  parameter,  ///< it has the scales of another tensor
};

/// A tensor that has data.
struct Constant {
  std::string name;            ///< of no other constant
  const Type* type = nullptr;  ///< null: not known, and left
  std::vector<int64_t> shape;
  Bytes data;
  Use use = Use::copied;
  std::string reason;  ///< why it is left or dropped
  std::optional<Computed> computed;
  bool shared = false;  ///< other tensors have the same data
};

/// A quantized tensor that the model computes.
struct Activation {
  const Tensor* tensor;
  std::string_view name;  ///< as the file has it
};

/// Addresses are valid as long as it exists.
struct Constants {
  std::deque<Constant> all;  ///< in the order of the file
  std::vector<Activation> activations;
  Warnings warnings;

  std::unordered_map<std::string_view, const Constant*> by_name;
};

/// Decides on every tensor. The file and the model must outlive the result. Tensors of several
/// subgraphs with the same name, data, type and parameters are one constant. A name that is empty,
/// no UTF-8 or that of another constant becomes "name@subgraph.index". Fails with malformed where
/// shapes, parameters and data contradict each other, and with io.
Result<Constants> constants_of(const InputFile& file, const Model& model);

/// Opens numbers of the file, which must outlive the reader.
std::unique_ptr<StoredReader> open_stored(const InputFile& file, const Stored& stored);

}  // namespace dequant::format::tflite
