// Scales or zero points of a tensor that is computed in parts.
#include "format/onnx/side_input.h"

#include "format/io/errors.h"

namespace dequant::format::onnx {

Result<SideInput> SideInput::open(const Model& model, ExternalFiles& files,
                                  const Constant& constant, int64_t max_bytes) {
  SideInput side;
  side.max_bytes_ = max_bytes;
  DEQUANT_TRY(ConstantReader reader, ConstantReader::open(model, files, constant, max_bytes));
  DEQUANT_TRY(const int64_t bytes, packed_bytes(reader.element(), reader.left()));
  if (bytes <= max_bytes || !reader.seekable()) {
    DEQUANT_TRY(side.whole_, read_constant(model, files, constant, max_bytes));
  } else {
    side.reader_.emplace(std::move(reader));
  }
  return side;
}

Result<std::span<const std::byte>> SideInput::get(Element element, Range range,
                                                  std::vector<std::byte>& slice) const {
  DEQUANT_TRY(const int64_t before, packed_bytes(element, range.begin));
  DEQUANT_TRY(const int64_t size, packed_bytes(element, range.end - range.begin));
  const auto length = static_cast<size_t>(size);
  if (whole_)
    return std::span<const std::byte>(whole_->bytes).subspan(static_cast<size_t>(before), length);
  if (size > max_bytes_) {
    return failure(ErrorCode::limit, "{} bytes of scales at once, more than the {} that mem leaves",
                   size, max_bytes_);
  }
  slice.resize(length);
  DEQUANT_CHECK(reader_->read_at(range, slice));
  return std::span<const std::byte>(slice);
}

}  // namespace dequant::format::onnx
