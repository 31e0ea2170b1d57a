// The ceiling of a cell: reads and writes of the same bytes, without arithmetic.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "dequant/executor.h"

namespace dequant::bench {

/// The bytes that a cell reads and writes; a read may be empty.
struct Traffic {
  std::array<std::span<const std::byte>, 5> reads;
  std::span<std::byte> write;
};

/// A method of moving these bytes.
struct Way {
  const char* name;
  bool reads;         ///< false: constants are stored and nothing is read
  bool streams;       ///< non-temporal stores
  std::size_t strip;  ///< bytes written between two runs of reads
  std::size_t ahead;  ///< prefetch distance of reads in bytes; 0: no software prefetch
};

/// Methods for outputs beyond the caches: all bytes are read and written, with streaming stores.
std::span<const Way> ways_beyond_caches() noexcept;

/// Methods for outputs in the caches: constants are stored.
std::span<const Way> ways_in_caches() noexcept;

/// Moves all bytes by one method, in chunks of 256 KiB of output as run() does, with the widest
/// vectors of this machine, for any forced target. The output starts at a cache line and is filled
/// with one bits; an incomplete cache line at an end is not moved. Returns the exclusive or of all
/// bytes read, so that the compiler cannot remove the reads.
std::uint8_t move(const Traffic& traffic, const Way& way, Executor executor);

}  // namespace dequant::bench
