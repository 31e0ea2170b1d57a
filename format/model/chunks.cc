// A dense tensor cut into chunks that fit in memory.
#include "format/model/chunks.h"

#include <algorithm>

#include "format/model/ranges.h"

namespace dequant::format {
namespace {

/// Bytes of codes that a chunk may read besides its own: rows that begin within a block.
constexpr int64_t kSlack = int64_t{1} << 12;
/// Long chunks that threads compute at once, each with its output and its codes.
constexpr int64_t kChunksAtOnce = 4;

int64_t output_bytes_of(const Plan& plan) { return bits(plan.output) / 8; }

/// Rows of a chunk where neighbours of a row are far apart in x, or have a group index, by
/// preference: 128 codes of 4 bits fill a cache line of x, and fewer than 16 rows, or a part of a
/// row, are dequantized code by code. A chunk that ends within a row of AWQ takes five times as
/// long.
constexpr std::array<int64_t, 4> kRows{128, 64, 16, 1};

/// How a strided plan is cut.
struct Cut {
  int64_t most;                ///< elements of a chunk
  int64_t whole_elements = 1;  ///< chunks end at multiples of so many
  bool long_chunks = false;
  bool holds_codes = false;  ///< all of them
};

/// Elements of such a row; 0 for plans that have none.
int64_t row_of(const Plan& plan) {
  const Packing& packing = plan.parameters.x_packing;
  const int64_t neighbour = packing.columns != 0 ? packing.row : 1;
  int64_t elements = 1;
  bool indexed = false;
  for (auto d = plan.dimensions.rbegin(); d != plan.dimensions.rend(); ++d) {
    if (elements > 1 && (indexed || d->x == neighbour)) return elements;
    indexed = d->group_index != 0;
    elements *= d->size;
  }
  return 0;
}

/// Chunks of whole rows, and of as many as are dequantized at once if their results fit.
Cut of_whole_rows(const Plan& plan, Cut cut, int64_t parameter_bytes) {
  const int64_t row = row_of(plan);
  const int64_t fits = parameter_bytes / kChunksAtOnce / output_bytes_of(plan);
  for (const int64_t rows : kRows) {
    if (row == 0 || row > std::max(fits, cut.most) / rows) continue;
    cut.whole_elements = rows * row;
    cut.long_chunks = cut.whole_elements > cut.most;
    cut.most = std::max(cut.most / cut.whole_elements, int64_t{1}) * cut.whole_elements;
    break;
  }
  return cut;
}

/// Neighbours in y can be far apart in x, as in a transpose: then chunks of a few results would
/// each read nearly all codes. A chunk becomes as long as a dimension that ends this, where its
/// results fit in `parameter_bytes`; else all codes are held. Slabs that are not held are read once
/// for each code of a word.
Cut cut_of(const Plan& plan, bool seekable, int64_t most, int64_t parameter_bytes) {
  const int64_t count = element_count(plan);
  const auto code_bytes = [&](int64_t elements_end) {
    const Range bytes = x_bytes_of(plan, slices_of(plan, {0, elements_end}).x);
    return bytes.end - bytes.begin;
  };
  const auto reads_more = [&](int64_t elements) {
    const int64_t own = elements * code_bits(plan) / 8;
    return code_bytes(elements) > own + own / 4 + kSlack;
  };
  if (count <= most) return {most};
  if (seekable && !reads_more(most)) return of_whole_rows(plan, {most}, parameter_bytes);
  int64_t elements = 1;
  for (auto d = plan.dimensions.rbegin(); d != plan.dimensions.rend(); ++d) {
    elements *= d->size;
    if (elements <= most || elements == count || !seekable) continue;
    if (elements * output_bytes_of(plan) > parameter_bytes / kChunksAtOnce) break;
    if (!reads_more(elements)) return {.most = elements, .long_chunks = true};
  }
  const bool fits = code_bytes(count) <= parameter_bytes;
  const Cut cut{.most = most, .holds_codes = fits || !seekable || !has_slabs_in_order(plan)};
  return of_whole_rows(plan, cut, parameter_bytes);
}

}  // namespace

Chunks::Chunks(const Plan& plan, RecipeReaders readers, Range elements, int64_t output_bytes,
               int64_t parameter_bytes, Phases* phases)
    : plan_(plan),
      readers_(std::move(readers)),
      elements_(elements),
      most_(output_bytes / output_bytes_of(plan)),
      parameter_bytes_(parameter_bytes),
      phases_(phases),
      begin_(elements.begin) {}

bool Chunks::holds_codes(const Plan& plan, int64_t output_bytes, int64_t parameter_bytes) {
  return plan.granularity == Granularity::strided &&
         cut_of(plan, true, output_bytes / output_bytes_of(plan), parameter_bytes).holds_codes;
}

Status Chunks::open(const Executor& executor) {
  const Stopwatch watch(phases_, &Phases::read);
  DEQUANT_CHECK(open(std::move(readers_.scale), &Slices::scale, &Buffers::scale));
  DEQUANT_CHECK(open(std::move(readers_.zero_point), &Slices::zero_point, &Buffers::zero_point));
  DEQUANT_CHECK(
      open(std::move(readers_.tensor_scale), &Slices::tensor_scale, &Buffers::tensor_scale));
  DEQUANT_CHECK(open(std::move(readers_.group_index), &Slices::group_index, &Buffers::group_index));
  DEQUANT_CHECK(open(std::move(readers_.codebook), &Slices::codebook, &Buffers::codebook));
  if (plan_.granularity == Granularity::strided) {
    const Cut cut = cut_of(plan_, readers_.codes->seekable(), most_, parameter_bytes_);
    most_ = cut.most;
    whole_elements_ = cut.whole_elements;
    long_chunks_ = cut.long_chunks;
    if (cut.holds_codes) {
      DEQUANT_TRY(codes_, readers_.codes->seekable()
                              ? readers_.codes->whole_at(parameter_bytes_, executor)
                              : readers_.codes->whole(parameter_bytes_));
    }
  }
  // Chunks of packed codes are no ranges of elements, which alone can be read in order.
  if (has_packed_codes(plan_) && !readers_.codes->seekable() && codes_.empty()) {
    DEQUANT_TRY(codes_, readers_.codes->whole(parameter_bytes_));
  }
  return {};
}

Status Chunks::open(std::unique_ptr<StoredReader> reader, Range Slices::*slice,
                    std::span<const std::byte> Buffers::*buffer) {
  if (!reader) return {};
  const Element element = reader->element();
  DEQUANT_TRY(auto parameter, ParameterReader::open(std::move(reader), parameter_bytes_));
  parameters_.push_back({element, slice, buffer, std::move(parameter)});
  return {};
}

int64_t Chunks::concurrency() const {
  for (const Parameter& p : parameters_) {
    if (!p.reader.held_whole()) return 1;
  }
  const int64_t chunks = (elements_.end - elements_.begin) / most_ + 1;
  if (!long_chunks_) return chunks;
  const int64_t chunk_bytes = most_ * output_bytes_of(plan_);
  return std::min(chunks, std::max(parameter_bytes_ / chunk_bytes, kChunksAtOnce));
}

void Chunks::make_room(Chunk& chunk, Holds what) const {
  const int64_t most = std::min(most_, element_count(plan_));
  if (codes_.empty()) {
    const int64_t bytes = plan_.parameters.x_blocks ? slices_of(plan_, {0, most}).x.end
                                                    : most * code_bits(plan_) / 8 + 1;
    chunk.code_buffer.reserve(static_cast<size_t>(bytes));
  }
  if (what == Holds::codes) return;
  chunk.output.reserve(static_cast<size_t>(most * (bits(plan_.output) / 8)));
}

Result<bool> Chunks::next(Chunk& chunk) {
  const std::lock_guard lock(mutex_);
  if (begin_ == elements_.end) return false;
  const int64_t end = chunk_end(plan_, begin_, most_);
  const int64_t whole_end = end / whole_elements_ * whole_elements_;
  chunk.elements = {begin_, std::min(whole_end > begin_ ? whole_end : end, elements_.end)};
  if (codes_.empty() && !readers_.codes->seekable()) {
    const Stopwatch watch(phases_, &Phases::read);
    const int64_t count = chunk.elements.end - begin_;
    DEQUANT_TRY(const int64_t bytes, packed_bytes(plan_.input, count));
    chunk.code_buffer.resize(static_cast<size_t>(bytes));
    DEQUANT_CHECK(readers_.codes->read(count, chunk.code_buffer));
    chunk.codes = chunk.code_buffer;
  }
  begin_ = chunk.elements.end;
  return true;
}

Status Chunks::read_codes(Chunk& chunk, Range slice) {
  const Range bytes = x_bytes_of(plan_, slice);
  const auto size = static_cast<size_t>(bytes.end - bytes.begin);
  if (!codes_.empty()) {
    chunk.codes = std::span(codes_).subspan(static_cast<size_t>(bytes.begin), size);
  } else if (readers_.codes->seekable()) {
    chunk.code_buffer.resize(size);
    DEQUANT_CHECK(
        readers_.codes->read_at(has_packed_codes(plan_) ? bytes : slice, chunk.code_buffer));
    chunk.codes = chunk.code_buffer;
  }
  return {};
}

Status Chunks::compute(Chunk& chunk, const Executor& executor) {
  const int64_t count = chunk.elements.end - chunk.elements.begin;
  chunk.output.resize(static_cast<size_t>(count * (bits(plan_.output) / 8)));
  return compute(chunk, chunk.output, {executor, Stores::cached});
}

Status Chunks::compute(Chunk& chunk, std::span<std::byte> y, const RunOptions& options) {
  Buffers buffers{{}, {}, {}, y};
  {
    const Stopwatch watch(phases_, &Phases::read);
    const Slices slices = slices_of(plan_, chunk.elements);
    DEQUANT_CHECK(read_codes(chunk, slices.x));
    buffers.x = chunk.codes;
    for (size_t i = 0; i < parameters_.size(); ++i) {
      const Parameter& p = parameters_[i];
      const bool packed_zeros = p.slice == &Slices::zero_point && has_packed_zero_points(plan_);
      const Range slice = slices.*p.slice;
      DEQUANT_TRY(buffers.*p.buffer,
                  p.reader.get(p.element, packed_zeros ? zero_point_bytes_of(plan_, slice) : slice,
                               chunk.parameter_buffers[i]));
    }
  }
  const Stopwatch watch(phases_, &Phases::dequantize);
  return run_range(plan_, chunk.elements, buffers, options);
}

Status Chunks::finish() {
  DEQUANT_CHECK(readers_.codes->finish());
  for (Parameter& p : parameters_) DEQUANT_CHECK(p.reader.finish());
  return {};
}

}  // namespace dequant::format
