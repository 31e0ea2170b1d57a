// XXH3-128 by the xxHash library.
#include "format/io/hash.h"

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>

namespace dequant::format {

namespace {

Status add(Hash& hash, const InputFile& file, int64_t offset, int64_t size) {
  return read_in_parts(file, offset, size, [&](std::span<const std::byte> part) -> Status {
    hash.add(part);
    return {};
  });
}

}  // namespace

struct Hash::State {
  XXH3_state_t xxh;
};

Hash::Hash() : state_(std::make_unique<State>()) { XXH3_128bits_reset(&state_->xxh); }

Hash::Hash(Hash&&) noexcept = default;

Hash::~Hash() = default;

void Hash::add(std::span<const std::byte> bytes) {
  XXH3_128bits_update(&state_->xxh, bytes.data(), bytes.size());
}

std::string Hash::hex() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(&state_->xxh);
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

Status add_structure(Hash& hash, const InputFile& file, std::vector<Range> data) {
  std::erase_if(data, [](const Range& range) { return range.begin >= range.end; });
  data.push_back({file.size(), file.size()});
  std::ranges::sort(data, {}, &Range::begin);
  int64_t at = 0;
  for (const Range& range : data) {
    if (at < range.begin) {
      hash.add(fmt::format("{} {}\n", at, range.begin));
      DEQUANT_CHECK(add(hash, file, at, range.begin - at));
    }
    at = std::max(at, range.end);
  }
  return {};
}

Result<std::string> hash_of(const InputFile& file, int64_t offset, int64_t size) {
  Hash hash;
  DEQUANT_CHECK(add(hash, file, offset, size));
  return hash.hex();
}

}  // namespace dequant::format
