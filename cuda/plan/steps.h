// The dimensions of a FastPlan before their divisors are computed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dequant::cuda {

/// Threads, and indices of parameters, are numbers of 31 bits.
inline constexpr int64_t kMostThreads = (int64_t{1} << 31) - 1;

/// A FastDimension: strides of x and y are bytes, those of parameters elements.
struct Step {
  int64_t size = 1;
  int64_t first = 0;
  int64_t block = 1;
  int64_t x = 0;
  int64_t y = 0;
  int64_t scale = 0;
  int64_t zero_point = 0;
  int64_t group = 0;

  bool has_params() const { return scale != 0 || zero_point != 0; }
  bool has_blocks() const { return has_params() && block != 1; }
};

/// Outermost first.
using Steps = std::vector<Step>;

/// Divides a step in two, the inner one of `size` indices. False if blocks or the first index do
/// not allow that.
bool divide(const Step& step, int64_t size, Step& outer, Step& inner);

/// Whole blocks become steps of their own, which need no division by the block.
Steps without_whole_blocks(const Steps& steps);

/// True without blocks and a first index, if the strides of x and y have 32 bits.
bool is_simple(const Step& step);

/// One step in place of two of which the outer one goes on where the inner one ends.
Steps merged(const Steps& steps);

/// Threads count up to `tile_rows` indices of the step `rows` first, then `tile_vectors` of the
/// step `vectors`. False if the sizes do not allow it. rows < vectors.
bool count_first(Steps& steps, size_t rows, size_t vectors, int64_t tile_rows,
                 int64_t tile_vectors);

/// The same for words that run down columns: rows are a word apart in x. Innermost are the vectors,
/// or the two vectors of a word.
void interleave(Steps& steps);

}  // namespace dequant::cuda
