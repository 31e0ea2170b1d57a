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

}  // namespace

Result<std::unique_ptr<StoredReader>> open_constant(const Model& model, ExternalFiles& files,
                                                    const Constant& constant, int64_t memory) {
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
  DEQUANT_TRY(readers.scale, open_constant(model, files, d.scale, memory));
  if (d.zero_point) {
    DEQUANT_TRY(readers.zero_point, open_constant(model, files, *d.zero_point, memory));
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
