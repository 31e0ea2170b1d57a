// Reading a stored tensor of a GGUF model in another order.
#include "format/gguf/view.h"

#include <algorithm>
#include <cstring>

namespace dequant::format::gguf {
namespace {

/// A reader of what another reader reads.
class DerivedReader : public StoredReader {
 public:
  explicit DerivedReader(std::unique_ptr<StoredReader> stored)
      : StoredReader(stored->element(), stored->count()), stored_(std::move(stored)) {}

  bool seekable() const override { return stored_->seekable(); }
  Status finish() override { return stored_->finish(); }

 protected:
  const StoredReader& stored() const { return *stored_; }

 private:
  Status read_next(Range elements, std::span<std::byte> out) override {
    return read_at(elements, out);
  }
  std::string label() const override { return "a tensor of another order"; }

  std::unique_ptr<StoredReader> stored_;
};

/// The rows of heads, first halves before second halves.
class HeadsReader : public DerivedReader {
 public:
  HeadsReader(std::unique_ptr<StoredReader> stored, int64_t row, int64_t rows)
      : DerivedReader(std::move(stored)), row_(row), rows_(rows), width_(bits(element_) / 8) {}

  Status read_at(Range elements, std::span<std::byte> out) const override {
    const int64_t size = row_ * rows_;
    std::vector<std::byte> head(static_cast<size_t>(size * width_));
    for (int64_t at = elements.begin / size * size; at < elements.end; at += size) {
      DEQUANT_CHECK(stored().read_at({at, at + size}, head));
      for (int64_t row = 0; row < rows_; ++row) {
        const Range own{at + row * row_, at + (row + 1) * row_};
        const Range wanted{std::max(own.begin, elements.begin), std::min(own.end, elements.end)};
        if (wanted.begin >= wanted.end) continue;
        const int64_t from = stored_row(row) * row_ + (wanted.begin - own.begin);
        std::memcpy(out.data() + (wanted.begin - elements.begin) * width_,
                    head.data() + from * width_,
                    static_cast<size_t>((wanted.end - wanted.begin) * width_));
      }
    }
    return {};
  }

 private:
  int64_t stored_row(int64_t row) const {
    const int64_t half = rows_ / 2;
    return row < half ? 2 * row : 2 * (row - half) + 1;
  }

  const int64_t row_;   ///< elements of a row
  const int64_t rows_;  ///< of a head
  const int64_t width_;
};

/// Float32 numbers less 1, rounded once.
class LessOneReader : public DerivedReader {
 public:
  using DerivedReader::DerivedReader;

  Status read_at(Range elements, std::span<std::byte> out) const override {
    DEQUANT_CHECK(stored().read_at(elements, out));
    for (size_t at = 0; at + sizeof(float) <= out.size(); at += sizeof(float)) {
      float value;
      std::memcpy(&value, out.data() + at, sizeof value);
      value -= 1;
      std::memcpy(out.data() + at, &value, sizeof value);
    }
    return {};
  }
};

}  // namespace

std::unique_ptr<StoredReader> open_view(const View& view, std::unique_ptr<StoredReader> stored,
                                        int64_t row) {
  if (view.head > 0) stored = std::make_unique<HeadsReader>(std::move(stored), row, view.head);
  if (view.less_one) stored = std::make_unique<LessOneReader>(std::move(stored));
  return stored;
}

}  // namespace dequant::format::gguf
