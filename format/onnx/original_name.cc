// The name that a tensor had before it was quantized.
#include "format/onnx/original_name.h"

namespace dequant::format::onnx {
namespace {

bool drop_end(std::string_view& name, std::string_view end) {
  if (name.size() <= end.size() || !name.ends_with(end)) return false;
  name.remove_suffix(end.size());
  return true;
}

}  // namespace

std::string_view original_name(std::string_view name) {
  // onnxruntime/quantization: quant_utils.py, qdq_quantizer.py, matmul_nbits_quantizer.py.
  if (drop_end(name, "_quantized") || drop_end(name, "_DequantizeLinear_Output")) return name;
  drop_end(name, "_output");
  for (const std::string_view end : {"_Q2", "_Q4", "_Q8"}) {
    if (!drop_end(name, end)) continue;
    drop_end(name, "_DQ");
    return name == "_DQ" ? std::string_view() : name;
  }
  return {};
}

}  // namespace dequant::format::onnx
