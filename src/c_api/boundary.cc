// The boundary between C and C++: codes, and messages in the caller's memory.
#include "c_api/boundary.h"

#include <array>
#include <new>

namespace dequant::c_api {
namespace {

/// One more than the C++ code, so that 0 is success.
constexpr dequant_code shifted(ErrorCode code) {
  return static_cast<dequant_code>(static_cast<int>(code) + 1);
}
static_assert(shifted(ErrorCode::invalid_argument) == DEQUANT_INVALID_ARGUMENT);
static_assert(shifted(ErrorCode::malformed) == DEQUANT_MALFORMED);
static_assert(shifted(ErrorCode::limit) == DEQUANT_LIMIT);
static_assert(shifted(ErrorCode::unsupported) == DEQUANT_UNSUPPORTED);
static_assert(shifted(ErrorCode::io) == DEQUANT_IO);
static_assert(shifted(ErrorCode::out_of_memory) == DEQUANT_OUT_OF_MEMORY);

/// Bytes of the UTF-8 sequence that text starts with; 0 if it starts with none. By table 3-7 of the
/// Unicode standard: the second byte is what keeps overlong forms, surrogates and 0x110000 out.
size_t sequence_length(std::string_view text) noexcept {
  const auto byte = [&](size_t i) { return i < text.size() ? text[i] & 0xFF : 0; };
  const auto continues = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const int first = byte(0);
  if (first < 0x80) return 1;
  const int low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const int high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (first < 0xC2 || first > 0xF4 || byte(1) < low || byte(1) > high) return 0;
  if (first < 0xE0) return 2;
  if (!continues(2)) return 0;
  if (first < 0xF0) return 3;
  return continues(3) ? 4 : 0;
}

/// Copies whole characters as long as they fit, and ends with a NUL. A message may hold a caller's
/// text, so bytes that are no UTF-8 and control characters are written as \x and two digits.
void copy_text(std::string_view text, char* out, size_t room) noexcept {
  constexpr std::string_view kDigits = "0123456789abcdef";
  size_t at = 0;
  while (!text.empty()) {
    const auto first = static_cast<unsigned char>(text.front());
    const size_t length = sequence_length(text);
    const bool control =
        first < 0x20 || first == 0x7F || (first == 0xC2 && length == 2 && (text[1] & 0xFF) < 0xA0);
    const bool plain = length > 0 && !control;
    const std::array<char, 4> escaped{'\\', 'x', kDigits[first >> 4], kDigits[first & 0xF]};
    const std::string_view part =
        plain ? text.substr(0, length) : std::string_view(escaped.data(), escaped.size());
    if (at + part.size() + 1 > room) break;
    at += part.copy(out + at, part.size());
    text.remove_prefix(plain ? length : 1);
  }
  out[at] = '\0';
}

}  // namespace

bool is_usable(const dequant_error* error) noexcept {
  if (error == nullptr) return true;
  try {
    return bool{check_struct("dequant_error", error)};
  } catch (...) {
    return false;
  }
}

dequant_code report(dequant_error* error, dequant_code code, std::string_view message) noexcept {
  if (error != nullptr) {
    error->code = code;
    copy_text(message, error->message, sizeof error->message);
  }
  return code;
}

dequant_code to_c(ErrorCode code) noexcept { return shifted(code); }

Error error_in_flight() noexcept {
  // Texts of at most 15 bytes are stored within std::string: nothing here may allocate again.
  Error error{ErrorCode::out_of_memory, "out of memory"};
  try {
    throw;
  } catch (const std::bad_alloc&) {
  } catch (const std::exception& e) {
    try {
      error.message = concat("the system failed: ", e.what());
    } catch (...) {
    }
  } catch (...) {
  }
  return error;
}

}  // namespace dequant::c_api
