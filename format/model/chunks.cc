// A dense tensor cut into chunks that fit in memory.
#include "format/model/chunks.h"

#include "format/model/ranges.h"

namespace dequant::format {

Chunks::Chunks(const Plan& plan, RecipeReaders readers, int64_t output_bytes,
               int64_t parameter_bytes, Phases* phases)
    : plan_(plan),
      readers_(std::move(readers)),
      most_(output_bytes / (bits(plan.output) / 8)),
      parameter_bytes_(parameter_bytes),
      phases_(phases) {}

Status Chunks::open() {
  const Stopwatch watch(phases_, &Phases::read);
  DEQUANT_TRY(scale_, ParameterReader::open(std::move(readers_.scale), parameter_bytes_));
  if (readers_.zero_point) {
    DEQUANT_TRY(zero_, ParameterReader::open(std::move(readers_.zero_point), parameter_bytes_));
  }
  return {};
}

int64_t Chunks::concurrency() const {
  if (!scale_->held_whole() || (zero_ && !zero_->held_whole())) return 1;
  return element_count(plan_) / most_ + 1;
}

void Chunks::make_room(Chunk& chunk, Holds what) const {
  const int64_t most = std::min(most_, element_count(plan_));
  chunk.codes.reserve(static_cast<size_t>(most * bits(plan_.input) / 8 + 1));
  if (what == Holds::codes) return;
  chunk.output.reserve(static_cast<size_t>(most * (bits(plan_.output) / 8)));
}

Result<bool> Chunks::next(Chunk& chunk) {
  const std::lock_guard lock(mutex_);
  if (begin_ == element_count(plan_)) return false;
  chunk.elements = {begin_, chunk_end(plan_, begin_, most_)};
  const int64_t count = chunk.elements.end - begin_;
  DEQUANT_TRY(const int64_t code_bytes, packed_bytes(plan_.input, count));
  chunk.codes.resize(static_cast<size_t>(code_bytes));
  if (!readers_.codes->seekable()) {
    const Stopwatch watch(phases_, &Phases::read);
    DEQUANT_CHECK(readers_.codes->read(count, chunk.codes));
  }
  begin_ = chunk.elements.end;
  return true;
}

Status Chunks::read_parameters(Chunk& chunk, Buffers& buffers) {
  const Range groups = groups_of(plan_, chunk.elements);
  DEQUANT_TRY(buffers.scale, scale_->get(plan_.scale, groups, chunk.scale));
  if (zero_) {
    DEQUANT_TRY(buffers.zero_point, zero_->get(plan_.input, groups, chunk.zero_point));
  }
  return {};
}

Status Chunks::compute(Chunk& chunk, const Executor& executor) {
  const int64_t count = chunk.elements.end - chunk.elements.begin;
  chunk.output.resize(static_cast<size_t>(count * (bits(plan_.output) / 8)));
  return compute(chunk, chunk.output, {executor, Stores::cached});
}

Status Chunks::compute(Chunk& chunk, std::span<std::byte> y, const RunOptions& options) {
  Buffers buffers{chunk.codes, {}, {}, y};
  {
    const Stopwatch watch(phases_, &Phases::read);
    if (readers_.codes->seekable()) {
      DEQUANT_CHECK(readers_.codes->read_at(chunk.elements, chunk.codes));
    }
    DEQUANT_CHECK(read_parameters(chunk, buffers));
  }
  const Stopwatch watch(phases_, &Phases::dequantize);
  return run_range(plan_, chunk.elements, buffers, options);
}

Status Chunks::finish() {
  DEQUANT_CHECK(readers_.codes->finish());
  DEQUANT_CHECK(scale_->finish());
  return zero_ ? zero_->finish() : Status{};
}

}  // namespace dequant::format
