// Numbers of bytes as texts of options, such as 512Mi.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace dequant::format {

/// What byte_size() reads, behind "is not".
inline constexpr const char* kByteSizes = "a number of bytes such as 1000000, 500M or 512Mi";

/// Digits, then at most a unit, of any case: K, M, G, T, P and E are powers of 1000, and Ki to Ei
/// powers of 1024; then at most a B. None for any other text, and for more than 2^63 - 1 bytes.
std::optional<int64_t> byte_size(std::string_view text);

}  // namespace dequant::format
