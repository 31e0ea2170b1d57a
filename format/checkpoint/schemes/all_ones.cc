// Counting stored zero points of all ones.
#include "format/checkpoint/schemes/all_ones.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace dequant::format::checkpoint {
namespace {

constexpr int64_t kReadBytes = int64_t{1} << 20;

/// Bit i is set where bits i to i + bits - 1 of the stream are: in `low`, and then in `high`.
uint32_t starts_of_runs(uint32_t low, uint32_t high, int bits) {
  const uint64_t stream = uint64_t{high} << 32 | low;
  uint64_t runs = stream;
  for (int k = 1; k < bits; ++k) runs &= stream >> k;
  return static_cast<uint32_t>(runs);
}

/// The bits of word `word` at which codes start, of those before `end` in the stream.
uint32_t starts_of_codes(int64_t word, int64_t end, int bits) {
  uint32_t starts = 0;
  const int64_t first = (word * 32 + bits - 1) / bits * bits - word * 32;
  for (int64_t at = first; at < 32 && word * 32 + at < end; at += bits) starts |= uint32_t{1} << at;
  return starts;
}

int64_t count_row(const std::vector<uint32_t>& row, const std::vector<uint32_t>& starts, int bits) {
  int64_t count = 0;
  for (size_t i = 0; i < row.size(); ++i) {
    const uint32_t next = i + 1 < row.size() ? row[i + 1] : 0;
    count += std::popcount(starts_of_runs(row[i], next, bits) & starts[i]);
  }
  return count;
}

}  // namespace

Result<int64_t> count_all_ones(const Shards& shards, const Entry& matrix, int64_t count, int bits) {
  const int64_t rows = matrix.shape()[0];
  const int64_t words = matrix.shape()[1];
  std::vector<uint32_t> row(static_cast<size_t>(words));
  std::vector<uint32_t> starts;
  for (int64_t i = 0; i < words; ++i) starts.push_back(starts_of_codes(i, count * bits, bits));
  const int64_t at_once = std::max<int64_t>(1, kReadBytes / std::max<int64_t>(1, words * 4));
  std::vector<std::byte> bytes;
  int64_t found = 0;
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t in_piece = r % at_once;
    const auto row_bytes = row.size() * sizeof(uint32_t);
    if (in_piece == 0) {
      bytes.resize(static_cast<size_t>(std::min(at_once, rows - r)) * row_bytes);
      DEQUANT_CHECK(shards.file_of(matrix).file.read(
          matrix.tensor->offset + r * static_cast<int64_t>(row_bytes), bytes));
    }
    std::memcpy(row.data(), bytes.data() + static_cast<size_t>(in_piece) * row_bytes, row_bytes);
    found += count_row(row, starts, bits);
  }
  return found;
}

}  // namespace dequant::format::checkpoint
