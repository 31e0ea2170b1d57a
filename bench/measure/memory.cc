// Memory for tensors.
#include "bench/measure/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>

namespace dequant::bench {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

/// The k-th 64-bit word of a pseudorandom sequence (splitmix64).
uint64_t random_word(uint64_t k) {
  uint64_t z = k * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

/// Makes numbers of `fill` from random bits: sign and exponent are fixed, the mantissa is random.
uint64_t plain(uint64_t word, Fill fill) {
  switch (fill) {
    case Fill::nothing:
    case Fill::codes: return word;
    case Fill::wide_codes: return word & 0x00FFFFFF00FFFFFFu;
    case Fill::float32: return (word & 0x00FFFFFF00FFFFFFu) | 0x3D0000003D000000u;
    case Fill::float16: return (word & 0x03FF03FF03FF03FFu) | 0x2800280028002800u;
    case Fill::bfloat16: return (word & 0x00FF00FF00FF00FFu) | 0x3D003D003D003D00u;
    case Fill::groups: return word & 0x0000000700000007u;
    case Fill::blocks: return (word & 0x1F1F1F1F1F1F1F1Fu) | 0x2020202020202020u;
  }
  return word;
}

void fill_with(std::span<std::byte> bytes, Fill fill) {
  // Writing zeros makes the system allocate the pages.
  if (fill == Fill::nothing) return static_cast<void>(std::memset(bytes.data(), 0, bytes.size()));
  for (size_t at = 0; at < bytes.size(); at += sizeof(uint64_t)) {
    const uint64_t word = plain(random_word(at + 1), fill);
    std::memcpy(&bytes[at], &word, std::min(sizeof word, bytes.size() - at));
  }
}

/// Bytes that the control group may still use: its limit minus its use; INT64_MAX without a limit.
int64_t available_in_group() {
  int64_t limit = 0;
  int64_t used = 0;
  std::ifstream("/sys/fs/cgroup/memory.max") >> limit;  // "max" leaves 0
  std::ifstream("/sys/fs/cgroup/memory.current") >> used;
  return limit > 0 ? std::max<int64_t>(limit - used, 0) : std::numeric_limits<int64_t>::max();
}

}  // namespace

void Memory::release() noexcept {
  if (map_ != nullptr) ::munmap(map_, mapped_);
  map_ = data_ = nullptr;
  mapped_ = size_ = filled_ = 0;
}

Result<std::span<std::byte>> Memory::get(int64_t size, Fill fill) {
  const auto need = static_cast<size_t>(size);
  if (need > size_) {
    release();
    const size_t mapped = need + lead_ + kHugePage;
    void* const map =
        ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) {
      return Error{ErrorCode::out_of_memory, "no memory for " + std::to_string(size) + " bytes"};
    }
    map_ = static_cast<std::byte*>(map);
    mapped_ = mapped;
    const size_t past = reinterpret_cast<uintptr_t>(map_) % kHugePage;
    std::byte* const start = map_ + (past == 0 ? 0 : kHugePage - past);
#if defined(MADV_HUGEPAGE)
    // A request only: without huge pages the system uses small pages.
    if (need >= kHugePage) ::madvise(start, need + lead_, MADV_HUGEPAGE);
#endif
    data_ = start + lead_;
    size_ = need;
  }
  if (filled_ < need || fill_ != fill) {
    fill_with({data_, need}, fill);
    filled_ = need;
    fill_ = fill;
  }
  return std::span(data_, need);
}

int64_t available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  int64_t kibibytes = 0;
  while (file >> key) {
    if (key == "MemAvailable:" && file >> kibibytes) {
      return std::min(kibibytes * 1024, available_in_group());
    }
  }
  return available_in_group();
}

int64_t last_level_cache_bytes() {
#if defined(_SC_LEVEL3_CACHE_SIZE)
  if (const long l3 = ::sysconf(_SC_LEVEL3_CACHE_SIZE); l3 > 0) return int64_t{l3};
#endif
  return int64_t{32} << 20;
}

}  // namespace dequant::bench
