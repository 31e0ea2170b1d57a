// Evaluating models made of DequantizeLinear, Constant and Identity only, whole in memory: what
// `dequant run` and the node tests of ONNX see of this folder.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dequant/executor.h"
#include "format/io/tensor_data.h"

namespace dequant::format::onnx {

struct NamedTensor {
  std::string name;
  TensorData data;
};

/// Reads a serialized TensorProto (.pb); its name may be empty.
Result<NamedTensor> read_tensor_pb(const std::string& path);

/// Serializes a tensor as a TensorProto with raw_data.
std::string tensor_pb(const NamedTensor& tensor);

/// An input of a model's graph.
struct InputType {
  std::string name;
  std::optional<Element> type;  ///< that the model declares; none where it declares none
};

/// The inputs of a model's graph, in order.
Result<std::vector<InputType>> input_types(const std::string& model_path);

/// Evaluates a model on inputs given by name; yields the outputs in the order of the graph. An
/// input with an initializer may be left out. Fails with unsupported on any other node, with
/// malformed when a node breaks its specification, with invalid_argument on a missing or
/// superfluous input.
Result<std::vector<NamedTensor>> evaluate(const std::string& model_path,
                                          std::vector<NamedTensor> inputs,
                                          const Executor& executor = default_executor());

}  // namespace dequant::format::onnx
