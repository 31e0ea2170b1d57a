// Computing the outputs of nodes between constants.
#include "format/onnx/evaluation/evaluation.h"

#include "format/io/errors.h"
#include "format/onnx/constant_reader.h"
#include "format/onnx/evaluation/call.h"

namespace dequant::format::onnx {
namespace {

constexpr size_t kMostRank = 64;

constexpr size_t kAll = 64;  // more inputs are not looked at

constexpr EvaluatedOperator kOperators[] = {
    {"Cast", 6, 1, 1, plan_cast},
    {"CastLike", 15, 2, 1, plan_cast_like},
    {"Clip", 12, 1, 3, plan_clip},
    {"Concat", 4, 1, kAll, plan_concat},
    {"Constant", 12, 0, 0, plan_integers},
    {"ConstantOfShape", 9, 1, 1, plan_constant_of_shape},
    {"Div", 7, 2, 2, plan_div},
    {"Flatten", 9, 1, 1, plan_flatten},
    {"Gather", 1, 2, 2, plan_gather},
    {"Mul", 7, 2, 2, plan_mul},
    {"Reshape", 5, 2, 2, plan_reshape},
    {"Slice", 10, 3, 5, plan_slice},
    {"Squeeze", 1, 1, 2, plan_squeeze},
    {"Transpose", 1, 1, 1, plan_transpose},
    {"Unsqueeze", 1, 1, 2, plan_unsqueeze},
};

Result<Array> evaluate(const Model& model, ExternalFiles& files, const Evaluation& e) {
  std::vector<Array> inputs;
  for (const Constant& c : e.inputs) {
    DEQUANT_TRY(Array input, array_of(model, files, c, kMostEvaluated));
    inputs.push_back(std::move(input));
  }
  return e.compute(inputs);
}

}  // namespace

const EvaluatedOperator* evaluated_operator(const Node& node) {
  for (const EvaluatedOperator& op : kOperators) {
    if (node.is(op.name)) return &op;
  }
  return nullptr;
}

Result<Constant> plan_evaluation(const EvaluatedOperator& op, Call& call) {
  const Node& node = call.node;
  if (call.opset < op.since) {
    return failure(ErrorCode::unsupported, "it is evaluated since opset {}, not of opset {}",
                   op.since, call.opset);
  }
  for (const Attribute& a : node.attributes) {
    if (!a.reference.empty()) {
      return failure(ErrorCode::unsupported, "{} is an attribute of its function", escaped(a.name));
    }
  }
  if (node.inputs.size() < op.inputs || node.outputs.size() != 1) {
    return failure(ErrorCode::invalid_argument, "{} inputs and {} outputs", node.inputs.size(),
                   node.outputs.size());
  }
  for (size_t i = 0; i < op.inputs && i < call.inputs.size(); ++i) {
    if (!call.inputs[i]) return failure(ErrorCode::invalid_argument, "input {} is missing", i);
  }
  DEQUANT_TRY(Constant out, op.plan(call));
  const ArrayType type = out.array_type();
  if (type.shape.size() > kMostRank)
    return failure(ErrorCode::limit, "its output has {} dimensions", type.shape.size());
  DEQUANT_TRY([[maybe_unused]] const int64_t bytes, bytes_of(type));
  return out;
}

Result<Array> array_of(const Model& model, ExternalFiles& files, const Constant& constant,
                       int64_t most) {
  Array array{constant.array_type(), {}};
  DEQUANT_TRY(const int64_t bytes, bytes_of(array.type));
  if (bytes > most)
    return failure(ErrorCode::limit, "{} bytes of a constant, over {}", bytes, most);
  if (constant.evaluated) {
    DEQUANT_TRY(Array made, evaluate(model, files, *constant.evaluated));
    array.bytes = std::move(made.bytes);
  } else if (constant.literal) {
    array.bytes = constant.literal->bytes;
  } else if (constant.computed) {
    DEQUANT_TRY(const auto reader, open_constant(model, files, constant, most));
    DEQUANT_TRY(array.bytes, reader->whole(most));
  } else {
    DEQUANT_TRY(Array stored, read_array(model, files, *constant.tensor, most));
    array.bytes = std::move(stored.bytes);
  }
  return array;
}

}  // namespace dequant::format::onnx
