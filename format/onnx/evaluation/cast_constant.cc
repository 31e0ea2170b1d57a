// Constants in another type, as a Cast would have them.
#include "format/onnx/evaluation/cast_constant.h"

#include "format/onnx/evaluation/cast.h"

namespace dequant::format::onnx {
namespace {

constexpr int64_t kMostNarrowed = int64_t{64} << 20;

Constant cast_to(int32_t to, const Node& node, const Constant& constant) {
  const auto compute = [to](const std::vector<Array>& inputs) { return cast(inputs[0], to); };
  Evaluation e{&node, {to, constant.array_type().shape}, {constant}, compute, 1 + constant.nodes()};
  Constant out;
  out.evaluated = std::make_shared<const Evaluation>(std::move(e));
  return out;
}

}  // namespace

Result<Constant> narrowed(const Model& model, ExternalFiles& files, const Node& node,
                          const Constant& constant) {
  const int32_t to = onnx_code(Element::int32);
  DEQUANT_TRY(const Array array, array_of(model, files, constant, kMostNarrowed));
  DEQUANT_CHECK(cast(array, to));  // each number is one of int32
  return cast_to(to, node, constant);
}

Constant widened(const Node& node, const Constant& constant) {
  return cast_to(onnx_code(Element::float32), node, constant);
}

}  // namespace dequant::format::onnx
