// A dequantization cut into stretches that fit memory.
#include "format/onnx/stretches.h"

#include "format/onnx/group_runs.h"

namespace dequant::format::onnx {

Stretches::Stretches(const Dequantization& d, int64_t output_bytes, int64_t side_bytes,
                     Phases* phases)
    : d_(d),
      most_(output_bytes / (bits(d.plan.output) / 8)),
      side_bytes_(side_bytes),
      phases_(phases) {}

Status Stretches::open(const Model& model, ExternalFiles& files) {
  const Stopwatch watch(phases_, &Phases::read);
  DEQUANT_TRY(x_, ConstantReader::open(model, files, d_.x, side_bytes_));
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

void Stretches::make_room(Stretch& stretch, Holds what) const {
  const int64_t most = std::min(most_, element_count(d_.plan));
  stretch.codes.reserve(static_cast<size_t>(most * bits(d_.plan.input) / 8 + 1));
  if (what == Holds::codes) return;
  stretch.output.reserve(static_cast<size_t>(most * (bits(d_.plan.output) / 8)));
}

Result<bool> Stretches::next(Stretch& stretch) {
  const std::lock_guard lock(turn_);
  if (begin_ == element_count(d_.plan)) return false;
  stretch.elements = {begin_, part_end(d_.plan, begin_, most_)};
  const int64_t count = stretch.elements.end - begin_;
  DEQUANT_TRY(const int64_t x_bytes, packed_bytes(d_.plan.input, count));
  stretch.codes.resize(static_cast<size_t>(x_bytes));
  if (!x_->seekable()) {
    const Stopwatch watch(phases_, &Phases::read);
    DEQUANT_CHECK(x_->read(count, stretch.codes));
  }
  begin_ = stretch.elements.end;
  return true;
}

Status Stretches::read_sides(Stretch& stretch, Buffers& buffers) {
  const Plan& plan = d_.plan;
  const Range scales = groups_of(plan, stretch.elements);
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
      DEQUANT_CHECK(x_->read_at(stretch.elements, stretch.codes));
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
