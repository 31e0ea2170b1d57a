// The data of a constant, a part at a time, whether it is a tensor, an attribute or computed.
#include "format/onnx/constant_reader.h"

#include <algorithm>

#include "format/io/errors.h"
#include "format/onnx/computed_reader.h"

namespace dequant::format::onnx {

ConstantReader::ConstantReader() = default;
ConstantReader::ConstantReader(ConstantReader&&) noexcept = default;
ConstantReader& ConstantReader::operator=(ConstantReader&&) noexcept = default;
ConstantReader::~ConstantReader() = default;

Result<ConstantReader> ConstantReader::open(const Model& model, ExternalFiles& files,
                                            const Constant& constant, int64_t memory) {
  ConstantReader reader;
  if (constant.computed) {
    DEQUANT_TRY(reader.computed_, ComputedReader::open(model, files, *constant.computed, memory));
    reader.element_ = constant.type().element;
    DEQUANT_TRY(reader.count_, element_count(constant.type().shape));
    return reader;
  }
  if (constant.literal) {
    reader.element_ = constant.literal->element;
    reader.literal_ = constant.literal->bytes;
    reader.count_ = static_cast<int64_t>(reader.literal_.size()) * 8 / bits(reader.element_);
    return reader;
  }
  DEQUANT_TRY(TensorReader tensor, TensorReader::open(model.source, files, *constant.tensor));
  reader.element_ = tensor.element();
  reader.count_ = tensor.count();
  reader.tensor_ = std::move(tensor);
  return reader;
}

bool ConstantReader::seekable() const {
  return computed_ ? computed_->seekable() : !tensor_ || tensor_->seekable();
}

Status ConstantReader::read_at(Range elements, std::span<std::byte> out) const {
  if (computed_) return computed_->read_at(elements, out);
  DEQUANT_TRY(const int64_t before, packed_bytes(element_, elements.begin));
  if (tensor_) return tensor_->read_at(before, out);
  std::copy_n(literal_.begin() + before, out.size(), out.begin());
  return {};
}

Status ConstantReader::read(int64_t count, std::span<std::byte> out) {
  const Range elements{done_, done_ + count};
  done_ = elements.end;
  if (computed_) return computed_->read(elements, out);
  return tensor_ ? tensor_->read(out) : read_at(elements, out);
}

Result<std::span<const std::byte>> ConstantReader::next(int64_t count) {
  DEQUANT_TRY(const int64_t bytes, packed_bytes(element_, count));
  part_.resize(static_cast<size_t>(bytes));
  DEQUANT_CHECK(read(count, part_));
  return std::span<const std::byte>(part_);
}

Status ConstantReader::finish() {
  if (computed_) return computed_->finish();
  return tensor_ ? tensor_->finish() : Status{};
}

Result<TensorData> read_constant(const Model& model, ExternalFiles& files, const Constant& constant,
                                 int64_t max_bytes) {
  if (constant.literal) return *constant.literal;
  if (constant.tensor != nullptr) {
    return read_tensor_data(model.source, files, *constant.tensor, max_bytes);
  }
  const TensorType type = constant.type();
  DEQUANT_TRY(const int64_t count, element_count(type.shape));
  DEQUANT_TRY(const int64_t bytes, packed_bytes(type.element, count));
  if (bytes > max_bytes) {
    return failure(ErrorCode::limit,
                   "{} computes {} bytes, more than the {} that mem leaves for it",
                   escaped(constant.computed->inputs.node->label()), bytes, max_bytes);
  }
  DEQUANT_TRY(ConstantReader reader, ConstantReader::open(model, files, constant, max_bytes));
  TensorData data{type.element, {type.shape.begin(), type.shape.end()}, {}};
  data.bytes.resize(static_cast<size_t>(bytes));  // proved to be backed by the inputs' bytes
  DEQUANT_CHECK(reader.read(count, data.bytes));
  DEQUANT_CHECK(reader.finish());
  return data;
}

}  // namespace dequant::format::onnx
