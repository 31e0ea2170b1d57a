// A dequantization cut into stretches that fit memory.
#include "format/onnx/stretches.h"

#include <algorithm>

#include "format/io/errors.h"

namespace dequant::format::onnx {
namespace {

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

Result<SideInput> SideInput::open(const Model& model, ExternalFiles& files,
                                  const Constant& constant, int64_t max_bytes) {
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
  DEQUANT_CHECK(reader_->read_at(before, slice));
  return std::span<const std::byte>(slice);
}

Stretches::Stretches(const Dequantization& d, int64_t output_bytes, int64_t side_bytes,
                     Phases* phases)
    : d_(d),
      most_(output_bytes / (bits(d.plan.output) / 8)),
      side_bytes_(side_bytes),
      phases_(phases) {}

Status Stretches::open(const Model& model, ExternalFiles& files) {
  const Stopwatch watch(phases_, &Phases::read);
  DEQUANT_TRY(x_, TensorReader::open(model.source, files, *d_.x.tensor));
  DEQUANT_TRY(scale_, SideInput::open(model, files, d_.scale, side_bytes_));
  if (d_.zero_point) {
    DEQUANT_TRY(zero_, SideInput::open(model, files, *d_.zero_point, side_bytes_));
  }
  return {};
}

int64_t Stretches::side_by_side() const {
  if (!scale_->held_whole() || (zero_ && !zero_->held_whole())) return 1;
  return element_count(d_.plan) / most_ + 1;
}

Result<bool> Stretches::next(Stretch& stretch) {
  const std::lock_guard lock(turn_);
  if (begin_ == element_count(d_.plan)) return false;
  stretch.elements = {begin_, stretch_end(d_.plan, begin_, most_)};
  const int64_t count = stretch.elements.end - begin_;
  DEQUANT_TRY(const int64_t x_bytes, packed_bytes(d_.plan.input, count));
  stretch.codes.resize(static_cast<size_t>(x_bytes));
  if (!x_->seekable()) {
    const Stopwatch watch(phases_, &Phases::read);
    DEQUANT_CHECK(x_->read(stretch.codes));
  }
  begin_ = stretch.elements.end;
  return true;
}

Status Stretches::read_sides(Stretch& stretch, Buffers& buffers) {
  const Plan& plan = d_.plan;
  const Range all{0, element_count(plan)};
  const Range scales =
      stretch.elements == all ? Range{0, scale_count(plan)} : scales_of(plan, stretch.elements);
  DEQUANT_TRY(buffers.scale, scale_->get(plan.scale, scales, stretch.scale));
  if (zero_) {
    DEQUANT_TRY(buffers.zero_point, zero_->get(plan.input, scales, stretch.zero_point));
  }
  return {};
}

Status Stretches::compute(Stretch& stretch, const Executor& executor) {
  const int64_t count = stretch.elements.end - stretch.elements.begin;
  stretch.output.resize(static_cast<size_t>(count * (bits(d_.plan.output) / 8)));
  return compute(stretch, stretch.output, {executor, Stores::cached});
}

Status Stretches::compute(Stretch& stretch, std::span<std::byte> y, const RunOptions& options) {
  const Plan& plan = d_.plan;
  Buffers buffers{stretch.codes, {}, {}, y};
  {
    const Stopwatch watch(phases_, &Phases::read);
    if (x_->seekable()) {
      DEQUANT_TRY(const int64_t before, packed_bytes(plan.input, stretch.elements.begin));
      DEQUANT_CHECK(x_->read_at(before, stretch.codes));
    }
    DEQUANT_CHECK(read_sides(stretch, buffers));
  }
  const Stopwatch watch(phases_, &Phases::dequantize);
  return run_range(plan, stretch.elements, buffers, options);
}

Status Stretches::finish() {
  DEQUANT_CHECK(x_->finish());
  DEQUANT_CHECK(scale_->finish());
  return zero_ ? zero_->finish() : Status{};
}

}  // namespace dequant::format::onnx
