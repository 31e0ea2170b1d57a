// Codes of int64 as int32.
#include "format/onnx/evaluation/narrowed.h"

#include "format/onnx/evaluation/cast.h"

namespace dequant::format::onnx {
namespace {

constexpr int64_t kMostNarrowed = int64_t{64} << 20;

}  // namespace

Result<Constant> narrowed(const Model& model, ExternalFiles& files, const Node& node,
                          const Constant& constant) {
  const int32_t to = onnx_code(Element::int32);
  const auto compute = [to](const std::vector<Array>& inputs) { return cast(inputs[0], to); };
  DEQUANT_TRY(const Array array, array_of(model, files, constant, kMostNarrowed));
  DEQUANT_CHECK(compute({array}));  // each number is one of int32
  Evaluation e{&node, {to, array.type.shape}, {constant}, compute, 1 + constant.nodes()};
  Constant out;
  out.evaluated = std::make_shared<const Evaluation>(std::move(e));
  return out;
}

}  // namespace dequant::format::onnx
