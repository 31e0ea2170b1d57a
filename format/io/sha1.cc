// SHA-1 by nettle, which uses the SHA instructions of processors that have these.
#include "format/io/sha1.h"

#include <fmt/format.h>
#include <nettle/sha1.h>

#include <algorithm>
#include <array>
#include <vector>

namespace dequant::format {

Result<std::string> sha1_of(const InputFile& file, const std::function<Status()>& tick) {
  constexpr int64_t kStep = int64_t{1} << 20;
  sha1_ctx context;
  sha1_init(&context);
  std::vector<std::byte> buffer(static_cast<size_t>(std::min(kStep, file.size())));
  for (int64_t done = 0; done < file.size();) {
    const auto part =
        std::span(buffer).first(static_cast<size_t>(std::min(kStep, file.size() - done)));
    DEQUANT_CHECK(file.read(done, part));
    sha1_update(&context, part.size(), reinterpret_cast<const uint8_t*>(part.data()));
    done += static_cast<int64_t>(part.size());
    if (tick) DEQUANT_CHECK(tick());
  }
  DEQUANT_CHECK(file.check_unchanged());
  std::array<uint8_t, SHA1_DIGEST_SIZE> digest{};
  sha1_digest(&context, digest.size(), digest.data());
  std::string hex;
  for (const uint8_t byte : digest) hex += fmt::format("{:02x}", byte);
  return hex;
}

}  // namespace dequant::format
