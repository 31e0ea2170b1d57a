// Reading the output of a QuantizeLinear or DequantizeLinear of constants, range by range.
#include "format/onnx/computed_reader.h"

#include <algorithm>

#include "format/io/errors.h"
#include "format/model/ranges.h"
#include "format/onnx/constant_reader.h"

namespace dequant::format::onnx {
namespace {

/// Elements that are computed at once, so that buffers of their inputs stay small; a multiple of 8.
constexpr int64_t kStep = int64_t{1} << 14;
/// Bytes of scales and zero points at least: those of kStep elements fit.
constexpr int64_t kLeastMemory = kStep * 4 + 64;

}  // namespace

Result<std::unique_ptr<StoredReader>> ComputedReader::open(const Model& model, ExternalFiles& files,
                                                           const Computation& computation,
                                                           int64_t memory) {
  const Dequantization& d = computation.inputs;
  // An input that is computed too divides its share again.
  const int64_t each = std::max(memory / 4, kLeastMemory);
  DEQUANT_TRY(auto x, open_constant(model, files, d.x, each));
  DEQUANT_TRY(const int64_t count, element_count(computation.type().shape));
  std::unique_ptr<ComputedReader> reader(new ComputedReader(computation, count, std::move(x)));
  DEQUANT_TRY(reader->scale_, open_parameters(model, files, *d.scale, each));
  if (d.zero_point) {
    DEQUANT_TRY(reader->zero_, open_parameters(model, files, *d.zero_point, each));
  }
  return std::unique_ptr<StoredReader>(std::move(reader));
}

template <class ReadX>
Status ComputedReader::compute(Range elements, std::span<std::byte> out, ReadX&& read_x) const {
  const Plan& plan = inputs_.plan;
  const Element from = quantizes_ ? plan.output : plan.input;
  const Element to = quantizes_ ? plan.input : plan.output;
  std::vector<std::byte> x;
  std::vector<std::byte> scale_slice;
  std::vector<std::byte> zero_slice;
  for (Range part{elements.begin, 0}; part.begin < elements.end; part.begin = part.end) {
    part.end = std::min(chunk_end(plan, part.begin, kStep), elements.end);
    DEQUANT_TRY(const int64_t x_bytes, packed_bytes(from, part.end - part.begin));
    DEQUANT_TRY(const int64_t before, packed_bytes(to, part.begin - elements.begin));
    DEQUANT_TRY(const int64_t y_bytes, packed_bytes(to, part.end - part.begin));
    x.resize(static_cast<size_t>(x_bytes));
    DEQUANT_CHECK(read_x(part, std::span(x)));
    Buffers buffers{
        x, {}, {}, out.subspan(static_cast<size_t>(before), static_cast<size_t>(y_bytes))};
    const Range groups = groups_of(plan, part);
    DEQUANT_TRY(buffers.scale, scale_->get(plan.scale, groups, scale_slice));
    if (zero_) {
      DEQUANT_TRY(buffers.zero_point, zero_->get(plan.input, groups, zero_slice));
    }
    if (quantizes_) {
      quantizer_.run(part, x, buffers.scale, buffers.zero_point, buffers.y);
    } else {
      DEQUANT_CHECK(run_range(plan, part, buffers, {sequential_executor(), Stores::cached}));
    }
  }
  return {};
}

Status ComputedReader::read_at(Range elements, std::span<std::byte> out) const {
  return compute(elements, out,
                 [&](Range part, std::span<std::byte> x) { return x_->read_at(part, x); });
}

Status ComputedReader::read_next(Range elements, std::span<std::byte> out) {
  return compute(elements, out, [&](Range part, std::span<std::byte> x) {
    return x_->read(part.end - part.begin, x);
  });
}

std::string ComputedReader::label() const {
  return fmt::format("the output of {}", escaped(inputs_.node->label()));
}

Status ComputedReader::finish() {
  DEQUANT_CHECK(x_->finish());
  DEQUANT_CHECK(scale_->finish());
  return zero_ ? zero_->finish() : Status{};
}

}  // namespace dequant::format::onnx
