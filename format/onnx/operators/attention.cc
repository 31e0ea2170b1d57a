// The table of operators of transformers whose float forms are com.microsoft's too, and of products
// that quantize their first input themselves.
#include "format/onnx/operators/attention.h"

#include "format/io/errors.h"

namespace dequant::format::onnx {
namespace {

constexpr FloatInput same(size_t input) { return {FloatInput::Kind::same, input}; }

constexpr FloatInput quantized(size_t codes, size_t scale, size_t zero_point,
                               std::optional<int64_t> axis = {}) {
  return {FloatInput::Kind::quantized, codes, scale, zero_point, 0, axis};
}

constexpr FloatInput kAttention[] = {quantized(0, 3, 6), quantized(1, 4, 7, -1), same(2), same(5),
                                     same(8)};
constexpr CarriedAttribute kAttentionAttributes[] = {
    {"do_rotary"}, {"mask_filter_value"}, {"num_heads"}, {"scale"}, {"unidirectional"}};

constexpr FloatInput kEmbedding[] = {same(0),
                                     same(1),
                                     quantized(2, 8, 13),
                                     quantized(3, 9, 14),
                                     quantized(4, 10, 15),
                                     quantized(5, 11, 16),
                                     quantized(6, 12, 17),
                                     same(7)};
constexpr CarriedAttribute kEmbeddingAttributes[] = {{"epsilon"}};

constexpr FloatInput kIntegerToFloat[] = {quantized(0, 2, 4), quantized(1, 3, 5, -1)};
constexpr FloatInput kDynamicMatMul[] = {same(0), quantized(1, 2, 3, -1)};

/// Attention with a shared buffer needs the length of the past, which QAttention has not.
Status check_attention(Operands& in) {
  if (in.integer("past_present_share_buffer", 0) != 0)
    in.refuse("past_present_share_buffer: Attention needs the length of the past for it");
  return {};
}

constexpr ArithmeticOperator kAttentionOperators[] = {
    {kMicrosoft,
     "QAttention",
     "Attention",
     kMicrosoft,
     10,
     kAttention,
     0,
     {},
     kAttentionAttributes,
     check_attention},
    {kMicrosoft,
     "QEmbedLayerNormalization",
     "EmbedLayerNormalization",
     kMicrosoft,
     10,
     kEmbedding,
     0,
     {},
     kEmbeddingAttributes},
    {kMicrosoft, "MatMulIntegerToFloat", "MatMul", "", 10, kIntegerToFloat, 0, {}, {}, nullptr, 6},
    {kMicrosoft, "DynamicQuantizeMatMul", "MatMul", "", 10, kDynamicMatMul, 0, {}, {}, nullptr, 4},
};

}  // namespace

std::span<const ArithmeticOperator> attention_operators() { return kAttentionOperators; }

}  // namespace dequant::format::onnx
