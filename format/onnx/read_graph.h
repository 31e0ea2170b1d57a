// Reading the structure of GraphProto, FunctionProto, NodeProto and AttributeProto.
#pragma once

#include <vector>

#include "format/onnx/structure_memory.h"

namespace dequant::format::onnx {

/// Fields of a model whose messages contain nodes. They are read after the operator sets, which may
/// come later in the file.
struct Bodies {
  std::vector<Field> graphs;  ///< protobuf merges them to one graph
  std::vector<Field> functions;
  std::vector<Field> training;
};

/// Reads these fields into the model. Fails with malformed, unsupported, limit or io.
Status read_bodies(Model& model, StructureMemory& memory, const Bodies& bodies);

/// Reads an OperatorSetIdProto into `opsets`. A second version of a domain replaces the first, with
/// a warning. Fails with malformed, limit or io.
Status read_opset(Model& model, Span message, Opsets& opsets);

}  // namespace dequant::format::onnx
