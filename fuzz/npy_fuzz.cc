// .npy files: any bytes, read as they say and as every element; what is read is written and read
// again.
#include "format/npy/npy.h"

#include "dequant/tensor.h"
#include "fuzz/support/check.h"
#include "fuzz/support/file.h"

namespace dequant::fuzz {
namespace {

using format::TensorData;

/// Bytes are those of the shape, or there was nothing to accept.
void check_tensor(const TensorData& tensor) {
  const auto count = element_count(tensor.shape);
  require(static_cast<bool>(count), "a shape without a count is accepted");
  const auto bytes = packed_bytes(tensor.element, *count);
  require(bytes && *bytes == static_cast<int64_t>(tensor.bytes.size()), "bytes of another shape");
}

/// What numpy would write of the tensor.
std::string written(const TensorData& tensor) {
  std::string out = format::npy_header(tensor.element, tensor.shape);
  const size_t begin = out.size();
  if (bits(tensor.element) < 8) {
    out.resize(begin + static_cast<size_t>(element_count(tensor.shape).value()));
    const auto data = std::as_writable_bytes(std::span(out)).subspan(begin);
    require(static_cast<bool>(unpack_codes(tensor.element, tensor.bytes, 0, data)), "no codes");
  } else {
    out.append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  }
  return out;
}

void fuzz(InputFile& file, std::span<const uint8_t> input) {
  file.write(input);
  std::string warning;
  const auto own = format::read_npy(file.path(), {}, &warning);
  if (accepted(own)) check_tensor(*own);
  if (!warning.empty()) check_error({ErrorCode::malformed, warning});
  // Which of the others is a matter of the length, so that mutations try them all.
  const Element as = elements()[input.size() % elements().size()];
  const auto told = format::read_npy(file.path(), as);
  if (!accepted(told)) return;
  check_tensor(*told);
  require(told->element == as, "another element than was asked for");
  if (told->bytes.size() > 4096) return;
  const std::string text = written(*told);
  file.write({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  const auto again = format::read_npy(file.path(), as);
  require(accepted(again) && again->shape == told->shape, "what is written cannot be read");
  require(written(*again) == text, "written and read again, another tensor");
}

}  // namespace
}  // namespace dequant::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static dequant::fuzz::InputFile file("x.npy");
  dequant::fuzz::fuzz(file, {data, size});
  return 0;
}
