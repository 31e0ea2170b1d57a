// The size of a tensor's data in a file.
#include "format/onnx/external_size.h"

#include "dequant/tensor.h"
#include "format/io/errors.h"

namespace dequant::format::onnx {
namespace {

constexpr int64_t kTexts = 8;  // TensorProto.STRING

}  // namespace

int element_bits(int64_t data_type) {
  if (const auto element = element_from_onnx(data_type)) return bits(*element);
  switch (data_type) {    // types that dequant copies but does not dequantize
    case 7: return 64;    // INT64
    case 9: return 8;     // BOOL
    case 11: return 64;   // DOUBLE
    case 13: return 64;   // UINT64
    case 14: return 64;   // COMPLEX64
    case 15: return 128;  // COMPLEX128
    default: return 0;
  }
}

Result<int64_t> raw_bytes(const Tensor& tensor) {
  if (tensor.data_type == kTexts) return failure(ErrorCode::malformed, "texts in external data");
  const int64_t one = element_bits(tensor.data_type);
  if (one == 0) {
    return failure(ErrorCode::unsupported,
                   "data type {} has no known size, and its external data no length",
                   tensor.data_type);
  }
  const auto count = element_count(tensor.dims);
  if (!count) return failure(ErrorCode::malformed, "{}", count.error().message);
  int64_t all = 0;
  if (__builtin_mul_overflow(*count, one, &all)) {
    return failure(ErrorCode::malformed, "{} elements of {} bits are beyond any file", *count, one);
  }
  return all / 8 + (all % 8 != 0 ? 1 : 0);
}

Result<Span> span_in(const InputFile& file, const External& external, int64_t needed) {
  if (external.length.value_or(needed) != needed) {
    return failure(ErrorCode::malformed,
                   "length {} in external_data, {} bytes needed for its shape and type",
                   *external.length, needed);
  }
  if (external.offset > file.size() || needed > file.size() - external.offset) {
    return failure(ErrorCode::malformed, "{} bytes from offset {} on are beyond the {} bytes of {}",
                   needed, external.offset, file.size(), escaped(file.name()));
  }
  return Span{external.offset, external.offset + needed};
}

}  // namespace dequant::format::onnx
