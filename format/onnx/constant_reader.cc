// Reading the data of a constant: of a tensor, of an attribute, or computed.
#include "format/onnx/constant_reader.h"

#include <algorithm>

#include "format/io/errors.h"
#include "format/model/bytes_reader.h"
#include "format/onnx/computed_reader.h"
#include "format/onnx/evaluation/evaluation.h"
#include "format/onnx/tensor_reader.h"

namespace dequant::format::onnx {
namespace {

/// Reads floats of an attribute.
class LiteralReader : public StoredReader {
 public:
  LiteralReader(const TensorData& data, int64_t count)
      : StoredReader(data.element, count), data_(data) {}

  bool seekable() const override { return true; }

  Status read_at(Range elements, std::span<std::byte> out) const override {
    DEQUANT_TRY(const int64_t before, packed_bytes(element_, elements.begin));
    std::copy_n(data_.bytes.begin() + before, out.size(), out.begin());
    return {};
  }

  Status finish() override { return {}; }

 private:
  Status read_next(Range elements, std::span<std::byte> out) override {
    return read_at(elements, out);
  }
  std::string label() const override { return "an attribute"; }

  const TensorData& data_;
};

/// Reads the bytes of another reader as packed codes.
class PackedReader : public StoredReader {
 public:
  PackedReader(Element element, std::unique_ptr<StoredReader> bytes)
      : StoredReader(element, bytes->count() * 8 / bits(element)), bytes_(std::move(bytes)) {}

  bool seekable() const override { return bytes_->seekable(); }

  Status read_at(Range elements, std::span<std::byte> out) const override {
    return bytes_->read_at(bytes_of(element_, elements), out);
  }

  Status finish() override { return bytes_->finish(); }

 private:
  Status read_next(Range elements, std::span<std::byte> out) override {
    const Range bytes = bytes_of(element_, elements);
    return bytes_->read(bytes.end - bytes.begin, out);
  }
  std::string label() const override { return "packed codes"; }

  std::unique_ptr<StoredReader> bytes_;
};

}  // namespace

Result<std::unique_ptr<StoredReader>> open_constant(const Model& model, ExternalFiles& files,
                                                    const Constant& constant, int64_t memory) {
  if (constant.packed) {
    Constant bytes = constant;  // which shares all that a reader needs
    bytes.packed.reset();
    DEQUANT_TRY(auto reader, open_constant(model, files, bytes, memory));
    return std::unique_ptr<StoredReader>(new PackedReader(*constant.packed, std::move(reader)));
  }
  if (constant.computed) return ComputedReader::open(model, files, *constant.computed, memory);
  if (constant.evaluated) {
    DEQUANT_TRY(Array array, array_of(model, files, constant, kMostEvaluated));
    DEQUANT_TRY(const int64_t count, count_of(array.type));
    auto bytes = std::make_shared<const std::vector<std::byte>>(std::move(array.bytes));
    return std::unique_ptr<StoredReader>(std::make_unique<BytesReader>(
        std::move(bytes), constant.type().element, count,
        fmt::format("the output of {}", escaped(constant.evaluated->node->label()))));
  }
  if (constant.literal) {
    DEQUANT_TRY(const int64_t count, element_count(constant.literal->shape));
    return std::unique_ptr<StoredReader>(new LiteralReader(*constant.literal, count));
  }
  DEQUANT_TRY(TensorReader reader, TensorReader::open(model.source, files, *constant.tensor));
  return std::unique_ptr<StoredReader>(new TensorReader(std::move(reader)));
}

Result<RecipeReaders> open_inputs(const Model& model, ExternalFiles& files, const Dequantization& d,
                                  int64_t memory) {
  RecipeReaders readers;
  DEQUANT_TRY(readers.codes, open_constant(model, files, d.x, memory));
  if (d.scale) {
    DEQUANT_TRY(readers.scale, open_constant(model, files, *d.scale, memory));
  }
  if (d.zero_point) {
    DEQUANT_TRY(readers.zero_point, open_constant(model, files, *d.zero_point, memory));
  }
  if (d.group_index) {
    DEQUANT_TRY(readers.group_index, open_constant(model, files, *d.group_index, memory));
  }
  if (d.codebook) {
    DEQUANT_TRY(readers.codebook, open_constant(model, files, *d.codebook, memory));
  }
  return readers;
}

Result<ParameterReader> open_parameters(const Model& model, ExternalFiles& files,
                                        const Constant& constant, int64_t memory) {
  DEQUANT_TRY(auto reader, open_constant(model, files, constant, memory));
  return ParameterReader::open(std::move(reader), memory);
}

Result<TensorData> read_constant(const Model& model, ExternalFiles& files, const Constant& constant,
                                 int64_t most) {
  DEQUANT_TRY(const auto reader, open_constant(model, files, constant, most));
  const TensorType type = constant.type();
  TensorData data{type.element, {type.shape.begin(), type.shape.end()}, {}};
  DEQUANT_TRY(data.bytes, reader->whole(most));
  return data;
}

}  // namespace dequant::format::onnx
