// Reading a dense tensor from front to back.
#include "format/diff/bands.h"

#include "format/io/errors.h"

namespace dequant::format {

Result<std::unique_ptr<Bands>> Bands::open(ModelFile& file, const DenseTensor& tensor,
                                           const StreamOptions& options, int64_t most) {
  std::unique_ptr<Bands> bands(new Bands(options));
  bands->element_bytes_ = static_cast<size_t>(bits(tensor.type().element)) / 8;
  if (!tensor.recipe) {
    DEQUANT_TRY(bands->stored_, file.open(tensor.stored, options.memory));
    return bands;
  }
  DEQUANT_TRY(RecipeReaders readers, open_readers(file, tensor, options));
  bands->most_bytes_ = static_cast<int64_t>(bands->element_bytes_) * most;
  const Plan& plan = tensor.recipe->plan;
  bands->codes_ = CodeBands::needed(plan, readers, bands->most_bytes_, parameter_memory(options));
  if (bands->codes_) {
    bands->readers_ = std::move(readers);
    DEQUANT_CHECK(bands->next_codes());
  } else {
    DEQUANT_CHECK(bands->open_chunks(plan, std::move(readers)));
  }
  return bands;
}

Status Bands::open_chunks(const Plan& plan, RecipeReaders readers) {
  chunks_.emplace(plan, std::move(readers), Range{0, element_count(plan)}, most_bytes_,
                  parameter_memory(options_), options_.phases);
  return chunks_->open(options_.executor);
}

Result<bool> Bands::next_codes() {
  if (!codes_ || next_codes_ == codes_->count()) return false;
  if (chunks_) DEQUANT_CHECK(chunks_->finish());
  chunks_.reset();
  DEQUANT_TRY(code_band_, codes_->at(next_codes_++));
  DEQUANT_CHECK(open_chunks(code_band_.plan, readers_of(code_band_, readers_)));
  return true;
}

Result<std::span<const std::byte>> Bands::next(int64_t count) {
  if (stored_) return stored_->next(count);
  const size_t bytes = static_cast<size_t>(count) * element_bytes_;
  DEQUANT_CHECK(fill(bytes));
  taken_ = bytes;
  return std::span<const std::byte>(bytes_).first(bytes);
}

/// Removes the last band from bytes_, and computes chunks until bytes_ has `bytes` bytes.
Status Bands::fill(size_t bytes) {
  bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(taken_));
  taken_ = 0;
  while (bytes_.size() < bytes) {
    DEQUANT_TRY(const bool more, chunks_->next(chunk_));
    if (!more) {
      DEQUANT_TRY(const bool others, next_codes());
      if (others) continue;
      return failure(ErrorCode::malformed, "the tensor is shorter than its shape");
    }
    const size_t before = bytes_.size();
    const auto elements = static_cast<size_t>(chunk_.elements.end - chunk_.elements.begin);
    bytes_.resize(before + elements * element_bytes_);
    DEQUANT_CHECK(chunks_->compute(chunk_, std::span(bytes_).subspan(before),
                                   {options_.executor, Stores::cached}));
  }
  return {};
}

Status Bands::finish() {
  if (stored_) return stored_->finish();
  DEQUANT_CHECK(chunks_->finish());
  return format::finish(readers_);
}

}  // namespace dequant::format
