// Packing and unpacking of many codes, with checks of the arguments.
#include "dequant/codes.h"

#include "checked.h"
#include "element/code_stream.h"
#include "text.h"

namespace dequant {
namespace {

Status check_width(int width) {
  if (width >= 1 && width <= 8) return {};
  return invalid("width: codes of ", width, " bits have no byte each; 1 to 8 do");
}

/// Checks that `packed` holds `count` codes from `first` on.
Status check_codes(int width, size_t packed, int64_t first, size_t count) {
  DEQUANT_CHECK(check_width(width));
  if (first < 0) return invalid("first: index ", first, " is negative");
  int64_t end = 0;
  const auto need =
      __builtin_add_overflow(first, count, &end) ? std::nullopt : checked_bytes(width, end);
  if (need && static_cast<uint64_t>(*need) <= packed) return {};
  return invalid("packed: ", packed, " bytes do not hold ", count, " codes of ", width,
                 " bits from index ", first, " on");
}

}  // namespace

Status unpack_codes(int width, std::span<const std::byte> packed, int64_t first,
                    std::span<std::byte> codes) {
  DEQUANT_CHECK(check_codes(width, packed.size(), first, codes.size()));
  with_width(width, [&](auto constant) {
    unpack_each<constant>(packed.data(), first, static_cast<int64_t>(codes.size()),
                          reinterpret_cast<uint8_t*>(codes.data()),
                          [](unsigned code) { return static_cast<uint8_t>(code); });
  });
  return {};
}

Status unpack_codes(Element element, std::span<const std::byte> packed, int64_t first,
                    std::span<std::byte> codes) {
  const int width = bits(element);
  if (kind(element) != Kind::signed_integer) return unpack_codes(width, packed, first, codes);
  DEQUANT_CHECK(check_codes(width, packed.size(), first, codes.size()));
  with_width(width, [&](auto constant) {
    unpack_each<constant>(packed.data(), first, static_cast<int64_t>(codes.size()),
                          reinterpret_cast<uint8_t*>(codes.data()), signed_byte<constant>);
  });
  return {};
}

Status pack_codes(int width, std::span<const std::byte> codes, std::span<std::byte> packed) {
  DEQUANT_CHECK(check_codes(width, packed.size(), 0, codes.size()));
  with_width(width, [&](auto constant) {
    pack_each<constant>(codes.data(), static_cast<int64_t>(codes.size()), packed.data());
  });
  return {};
}

}  // namespace dequant
