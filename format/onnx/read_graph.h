// GraphProto, FunctionProto, NodeProto and AttributeProto: structure only.
#pragma once

#include <vector>

#include "format/onnx/structure_memory.h"

namespace dequant::format::onnx {

/// Fields of a model whose messages hold nodes. They are read behind the operator sets, which may
/// stand behind them in the file.
struct Bodies {
  std::vector<Field> graphs;  ///< parts of one graph
  std::vector<Field> functions;
  std::vector<Field> training;
};

/// Reads them into the model. Fails with malformed, unsupported, limit or io.
Status read_bodies(Model& model, StructureMemory& memory, const Bodies& bodies);

/// Reads an OperatorSetIdProto into `opsets`. Of two versions the last counts, with a warning.
Status read_opset(Model& model, Span message, Opsets& opsets);

}  // namespace dequant::format::onnx
