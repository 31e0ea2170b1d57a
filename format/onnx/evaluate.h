// Evaluating models of DequantizeLinear, Constant and Identity nodes in memory. `dequant run` and
// ONNX's node tests use only this header of the folder.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dequant/executor.h"
#include "format/io/tensor_data.h"

namespace dequant::format::onnx {

/// A tensor and its name.
struct NamedTensor {
  std::string name;
  TensorData data;
};

/// Reads a serialized TensorProto (.pb); its name may be empty. Fails with io, malformed,
/// unsupported or limit.
Result<NamedTensor> read_tensor_pb(const std::string& path);

/// A tensor as a serialized TensorProto with raw_data.
std::string tensor_pb(const NamedTensor& tensor);

/// An input of a model's graph.
struct InputType {
  std::string name;
  std::optional<Element> type;  ///< none where the model does not declare it
};

/// The inputs of a model's graph, in order. Fails as read_model() does.
Result<std::vector<InputType>> input_types(const std::string& model_path);

/// Evaluates a model on named inputs, and returns the outputs in the order of the graph. An input
/// with an initializer may be left out. Fails with unsupported for nodes of other operators, with
/// malformed when a node violates its specification, with invalid_argument for a missing or unknown
/// input, or one of another type or shape than the model declares, and as read_model() does.
Result<std::vector<NamedTensor>> evaluate(const std::string& model_path,
                                          std::vector<NamedTensor> inputs,
                                          const Executor& executor = default_executor());

}  // namespace dequant::format::onnx
