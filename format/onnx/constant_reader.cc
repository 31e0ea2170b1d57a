// The data of a constant, a part at a time, whether it is a tensor or an attribute.
#include "format/onnx/constant_reader.h"

namespace dequant::format::onnx {

Result<ConstantReader> ConstantReader::open(const Model& model, ExternalFiles& files,
                                            const Constant& constant) {
  ConstantReader reader;
  if (constant.literal) {
    reader.element_ = constant.literal->element;
    reader.literal_ = constant.literal->bytes;
    reader.count_ = static_cast<int64_t>(reader.literal_.size()) * 8 / bits(reader.element_);
    return reader;
  }
  DEQUANT_TRY(TensorReader tensor, TensorReader::open(model.source, files, *constant.tensor));
  reader.element_ = tensor.element();
  reader.count_ = tensor.count();
  reader.reader_ = std::move(tensor);
  return reader;
}

Result<std::span<const std::byte>> ConstantReader::next(int64_t count) {
  DEQUANT_TRY(const int64_t bytes, packed_bytes(element_, count));
  const auto size = static_cast<size_t>(bytes);
  done_ += count;
  if (!reader_) {
    const auto part = literal_.first(size);
    literal_ = literal_.subspan(size);
    return part;
  }
  part_.resize(size);
  DEQUANT_CHECK(reader_->read(part_));
  return std::span<const std::byte>(part_);
}

}  // namespace dequant::format::onnx
