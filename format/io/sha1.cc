// SHA-1 by nettle, which uses the SHA instructions of processors that have these.
#include "format/io/sha1.h"

#include <fmt/format.h>
#include <nettle/sha1.h>

#include <array>

namespace dequant::format {

Result<std::string> sha1_of(const InputFile& file, const std::function<Status()>& tick) {
  sha1_ctx context;
  sha1_init(&context);
  DEQUANT_CHECK(read_in_parts(file, 0, file.size(), [&](std::span<const std::byte> part) -> Status {
    sha1_update(&context, part.size(), reinterpret_cast<const uint8_t*>(part.data()));
    return tick ? tick() : Status();
  }));
  DEQUANT_CHECK(file.check_unchanged());
  std::array<uint8_t, SHA1_DIGEST_SIZE> digest{};
  sha1_digest(&context, digest.size(), digest.data());
  std::string hex;
  for (const uint8_t byte : digest) hex += fmt::format("{:02x}", byte);
  return hex;
}

}  // namespace dequant::format
