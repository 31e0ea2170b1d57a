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

/// The rows of heads, first halves before second halves. Rows next to each other in a half are
/// every other row of the file: short ones are read with those between them.
class HeadsReader : public DerivedReader {
 public:
  HeadsReader(std::unique_ptr<StoredReader> stored, int64_t row, int64_t rows)
      : DerivedReader(std::move(stored)), row_(row), rows_(rows), width_(bits(element_) / 8) {}

  Status read_at(Range elements, std::span<std::byte> out) const override {
    std::vector<std::byte> piece;
    const auto out_of = [&](Range part) {
      return out.subspan(static_cast<size_t>((part.begin - elements.begin) * width_),
                         static_cast<size_t>((part.end - part.begin) * width_));
    };
    for (Range part{elements.begin, 0}; part.begin < elements.end; part.begin = part.end) {
      const int64_t rows = whole_rows({part.begin, elements.end});
      if (rows > 1) {
        part.end = part.begin + rows * row_;
        DEQUANT_CHECK(read_rows(part.begin / row_, rows, piece, out_of(part)));
      } else {
        const int64_t row = part.begin / row_;
        part.end = std::min((row + 1) * row_, elements.end);
        const int64_t moved = (stored_row(row) - row) * row_;
        DEQUANT_CHECK(stored().read_at({part.begin + moved, part.end + moved}, out_of(part)));
      }
    }
    return {};
  }

 private:
  static constexpr int64_t kPiece = int64_t{1} << 16;  ///< bytes of rows that are read at once

  /// The whole rows of one half at the beginning of a range, no more than a piece.
  int64_t whole_rows(Range elements) const {
    if (elements.begin % row_ != 0) return 0;
    const int64_t half = rows_ / 2;
    return std::min({half - elements.begin / row_ % half, (elements.end - elements.begin) / row_,
                     kPiece / (row_ * width_)});
  }

  int64_t stored_row(int64_t row) const {
    const int64_t half = rows_ / 2;
    const int64_t in_head = row % rows_;
    return row - in_head + (in_head < half ? 2 * in_head : 2 * (in_head - half) + 1);
  }

  Status read_rows(int64_t row, int64_t rows, std::vector<std::byte>& piece,
                   std::span<std::byte> out) const {
    const int64_t first = stored_row(row);
    const auto bytes = static_cast<size_t>(row_ * width_);
    piece.resize(static_cast<size_t>(2 * rows - 1) * bytes);
    DEQUANT_CHECK(stored().read_at({first * row_, (first + 2 * rows - 1) * row_}, piece));
    for (size_t i = 0; i < static_cast<size_t>(rows); ++i)
      std::memcpy(out.data() + i * bytes, piece.data() + 2 * i * bytes, bytes);
    return {};
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
