// Codes that do not lie as vectors want them: kernels make bytes of them, from indices of 32 bits.
#pragma once

#include <cstdint>

#include "cuda/plan/divisor.h"

namespace dequant::cuda {

enum class FastOrder : uint8_t {
  stream,       ///< rows of words, each one stream of bits
  words,        ///< rows of words, each with whole codes
  interleaved,  ///< rows of words with codes 0, 2, 4, 6, 1, 3, 5, 7 each; of zero points alone
  planes,    ///< rows of words, each 32 codes with a stream of some bits of each code after another
  of_bytes,  ///< floats of 6 bits, without words
  fields,    ///< neighbours are the same bits of neighbouring bytes
  scattered,  ///< the same bits of bytes or words at any address, in one slab or two
};

/// Where code i is. A vector begins at a multiple of its size and ends in the same row.
struct FastLayout {
  const uint8_t* data = nullptr;  ///< code 0
  FastOrder order = FastOrder::stream;
  uint32_t bits = 0;    ///< of a code
  uint32_t mask = 0;    ///< the lowest `bits` of all bytes of a word
  uint32_t origin = 0;  ///< the code of vector 0

  /// Code i is number i % row of row i / row. Of fields, a slab has `row` codes.
  uint32_t row = 1;
  SmallDivisor by_row = {};
  uint32_t row_step = 0;   ///< words from row to row
  uint32_t word_step = 0;  ///< words from a word of a row to the next
  // Of `words`.
  uint32_t in_word = 1;
  SmallDivisor by_word = {};
  uint32_t word_bits = 32;  ///< bits that have codes

  // Of fields: code i is in byte i % row, at bit first_shift + i / row * shift_step.
  uint32_t first_shift = 0;
  uint32_t shift_step = 0;   ///< modulo 2^32
  bool in_pairs = false;     ///< i / row and i % row change places
  bool is_of_words = false;  ///< words, not bytes, have the fields
};

}  // namespace dequant::cuda
