// What memory allows: the same bytes read and written as a cell does, without any arithmetic.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "dequant/executor.h"

namespace dequant::bench {

/// The bytes that a cell moves; a read may be empty.
struct Traffic {
  std::array<std::span<const std::byte>, 5> reads;
  std::span<std::byte> write;
};

/// One way to move them.
struct Way {
  const char* name;
  bool reads;         ///< false: constants are stored and nothing is read
  bool streams;       ///< by non-temporal stores
  std::size_t strip;  ///< bytes written between two turns of reading
  std::size_t ahead;  ///< bytes that are asked for before they are read; 0: as the processor likes
};

/// Beyond the caches: everything is read and written, by streaming stores.
std::span<const Way> ways_beyond_caches() noexcept;

/// In the caches: constants are stored.
std::span<const Way> ways_in_caches() noexcept;

/// Moves all bytes one way, in chunks of 256 KiB of output as run() does, with the widest vectors
/// of this machine, whatever target is forced. The output starts on a cache line and is filled with
/// ones; what is less than a line at an end is left out. Returns the exclusive or of all bytes
/// read, so that no compiler leaves the reading out.
std::uint8_t move(const Traffic& traffic, const Way& way, Executor executor);

}  // namespace dequant::bench
