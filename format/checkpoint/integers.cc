// The numbers of small stored tensors.
#include "format/checkpoint/integers.h"

#include <fmt/ranges.h>

#include "format/io/errors.h"

namespace dequant::format::checkpoint {

Result<std::vector<int64_t>> read_integers(const Shards& shards, const Entry& entry, int64_t most) {
  const size_t size = entry.dtype() == "I64" ? 8 : entry.dtype() == "I32" ? 4 : 0;
  if (size == 0) {
    return failure(ErrorCode::malformed, "tensor {}: type {} is neither I64 nor I32",
                   escaped(entry.name()), entry.dtype());
  }
  DEQUANT_TRY(const auto bytes, shards.read(entry, most));
  std::vector<int64_t> numbers;
  numbers.reserve(bytes.size() / size);
  for (size_t at = 0; at + size <= bytes.size(); at += size) {
    uint64_t bits = 0;
    for (size_t i = size; i-- > 0;) bits = bits << 8 | std::to_integer<uint64_t>(bytes[at + i]);
    numbers.push_back(size == 8 ? static_cast<int64_t>(bits)
                                : static_cast<int32_t>(static_cast<uint32_t>(bits)));
  }
  return numbers;
}

std::string option_of(std::span<const int64_t> numbers) {
  return fmt::format("{}", fmt::join(numbers, ","));
}

}  // namespace dequant::format::checkpoint
