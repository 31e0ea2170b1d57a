// Dequantizing a tensor of any size in bounded memory.
#include "format/onnx/stream.h"

#include <algorithm>

#include "format/io/errors.h"
#include "format/onnx/tensor_reader.h"

namespace dequant::format::onnx {
namespace {

/// Output bytes of one stretch: enough for all threads, little enough to stay near the caches.
constexpr int64_t kLargestStretch = int64_t{32} << 20;
constexpr int64_t kSmallestStretch = int64_t{1} << 20;
/// Less than this is not asked for: a stretch and its scales must fit.
constexpr int64_t kLeastMemory = 8 * kSmallestStretch;

/// Scales or zero points: held whole while they are few, read by stretch where the storage allows.
class SideInput {
 public:
  static Result<SideInput> open(Model& model, ExternalFiles& files, const Constant& constant,
                                int64_t max_bytes) {
    SideInput side;
    side.max_bytes_ = max_bytes;
    if (constant.literal) {
      side.whole_ = *constant.literal;
      return side;
    }
    DEQUANT_TRY(TensorReader reader, TensorReader::open(model.source, files, *constant.tensor));
    if (reader.bytes() <= max_bytes || !reader.seekable()) {
      DEQUANT_TRY(side.whole_, read_tensor_data(model.source, files, *constant.tensor, max_bytes));
    } else {
      side.reader_.emplace(std::move(reader));
    }
    return side;
  }

  /// The packed bytes of the entries in `range`, which starts on a byte.
  Result<std::span<const std::byte>> get(Element element, Range range) {
    DEQUANT_TRY(const int64_t before, packed_bytes(element, range.begin));
    DEQUANT_TRY(const int64_t size, packed_bytes(element, range.end - range.begin));
    const auto length = static_cast<size_t>(size);
    if (whole_)
      return std::span<const std::byte>(whole_->bytes).subspan(static_cast<size_t>(before), length);
    if (size > max_bytes_) {
      return failure(ErrorCode::limit,
                     "{} bytes of scales at once, more than the {} that --mem leaves", size,
                     max_bytes_);
    }
    slice_.resize(length);
    DEQUANT_CHECK(reader_->read_at(before, slice_));
    return std::span<const std::byte>(slice_);
  }

  Status finish() { return reader_ ? reader_->finish() : Status{}; }

 private:
  std::optional<TensorData> whole_;
  std::optional<TensorReader> reader_;
  std::vector<std::byte> slice_;
  int64_t max_bytes_ = 0;
};

/// Where a stretch that starts at `begin` ends: after `most` elements, but not within a later row of
/// scales than it starts in when one row alone is as long.
int64_t stretch_end(const Plan& plan, int64_t begin, int64_t most) {
  const int64_t count = element_count(plan);
  int64_t end = std::min(count, begin + most);
  const int64_t row = plan.axis * plan.inner;
  if (plan.granularity == Granularity::per_axis && row > most) {
    const int64_t row_end = (begin / row + 1) * row / 8 * 8;
    if (row_end > begin) end = std::min(end, row_end);
  }
  return end;
}

}  // namespace

Status stream(Model& model, ExternalFiles& files, const Dequantization& d,
              const StreamOptions& options, const Sink& sink) {
  const Plan& plan = d.plan;
  const int64_t memory = std::max(options.memory, kLeastMemory);
  const int64_t stretch = std::clamp(memory / 8, kSmallestStretch, kLargestStretch);
  const int64_t most = stretch / (bits(plan.output) / 8);
  DEQUANT_TRY(TensorReader x, TensorReader::open(model.source, files, *d.x.tensor));
  DEQUANT_TRY(SideInput scale, SideInput::open(model, files, d.scale, memory / 4));
  std::optional<SideInput> zero;
  if (d.zero_point) {
    DEQUANT_TRY(zero, SideInput::open(model, files, *d.zero_point, memory / 4));
  }

  std::vector<std::byte> codes;
  std::vector<std::byte> output;
  const int64_t count = element_count(plan);
  for (int64_t begin = 0; begin < count;) {
    const Range part{begin, stretch_end(plan, begin, most)};
    DEQUANT_TRY(const int64_t x_bytes, packed_bytes(plan.input, part.end - part.begin));
    codes.resize(static_cast<size_t>(x_bytes));
    DEQUANT_CHECK(x.read(codes));
    output.resize(static_cast<size_t>((part.end - part.begin) * (bits(plan.output) / 8)));

    const Range scales =
        part == Range{0, count} ? Range{0, scale_count(plan)} : scales_of(plan, part);
    Buffers buffers{codes, {}, {}, output};
    DEQUANT_TRY(buffers.scale, scale.get(plan.scale, scales));
    if (zero) {
      DEQUANT_TRY(buffers.zero_point, zero->get(plan.input, scales));
    }
    DEQUANT_CHECK(run_range(plan, part, buffers, {options.executor, Stores::cached}));
    DEQUANT_CHECK(sink(output));
    begin = part.end;
  }
  DEQUANT_CHECK(x.finish());
  DEQUANT_CHECK(scale.finish());
  return zero ? zero->finish() : Status{};
}

}  // namespace dequant::format::onnx
