// What a C program hands over: structs of any size, enumerations of any number, memory of any
// length.
#pragma once

#include <optional>

#include "dequant.h"
#include "fuzz/support/check.h"
#include "fuzz/support/tensors.h"

namespace dequant::fuzz {

/// A struct on the heap, just as long as its struct_size says as far as that is read.
template <class T>
class Struct {
 public:
  explicit Struct(Cursor& cursor) {
    size_t size = sizeof(T);
    if (cursor.rarely()) size = cursor.coin() ? cursor.below(4200) : cursor.raw<size_t>();
    const size_t held = size <= 4096 ? std::max(size, sizeof size) : sizeof size;
    memory_ = Exact(held);
    std::ranges::fill(memory_.bytes(), std::byte{0});
    if (cursor.rarely()) memory_.bytes().back() = std::byte{1};
    std::memcpy(memory_.bytes().data(), &size, sizeof size);
    if (size >= sizeof(T) && size <= 4096) value_.struct_size = size;
    null_ = cursor.byte() == 0xFF;
  }

  T* operator->() { return &value_; }

  /// Copies the members to where they are read; null rarely.
  T* get() {
    if (null_) return nullptr;
    auto* at = memory_.bytes().data();
    if (value_.struct_size != 0) std::memcpy(at, &value_, sizeof(T));
    return reinterpret_cast<T*>(at);
  }

 private:
  Exact memory_;
  T value_{};
  bool null_ = false;
};

/// Any number, which C lets an enumeration hold.
template <class Enum>
void set(Enum& field, int32_t number) {
  static_assert(sizeof field == sizeof number);
  std::memcpy(&field, &number, sizeof number);
}

template <class Enum>
int32_t number_of(const Enum& field) {
  int32_t number = 0;
  std::memcpy(&number, &field, sizeof number);
  return number;
}

/// Makes a call with an error struct of any size and checks what it says.
template <class Call>
bool succeeds(Cursor& cursor, Call&& call) {
  Struct<dequant_error> error(cursor);
  dequant_error* out = error.get();
  const bool sound =
      out == nullptr || (out->struct_size >= sizeof *out && out->struct_size <= 4096);
  const dequant_code code = call(out);
  require(number_of(code) >= 0 && code <= DEQUANT_OUT_OF_MEMORY, "an unknown code");
  if (!sound) require(code == DEQUANT_INVALID_ARGUMENT, "an unsound error struct is taken");
  // One with bytes set beyond its members stays as it is.
  if (!sound || out == nullptr || (out->code != code && out->message[0] == '\0')) {
    return code == DEQUANT_OK;
  }
  const size_t length = strnlen(out->message, sizeof out->message);
  require(length < sizeof out->message, "a message without an end");
  require((code == DEQUANT_OK) == (length == 0), "a message of success, or none of failure");
  if (length > 0) check_error({ErrorCode::invalid_argument, out->message});
  return code == DEQUANT_OK;
}

/// Bytes of a buffer at most.
inline constexpr uint64_t kMostBufferBytes = uint64_t{1} << 20;

/// Memory of the size that is needed, rarely of another, and rarely none.
struct Memory {
  std::optional<Exact> bytes;

  void* make(uint64_t needed, uint64_t& given, Cursor& cursor) {
    given = cursor.rarely() ? needed + cursor.byte() % 5 - 2 : needed;
    if (given > kMostBufferBytes) given = 0;
    bytes.emplace(given, cursor.byte() % 8);
    cursor.fill(bytes->bytes());
    if (given == 0 && cursor.coin()) return nullptr;
    if (cursor.rarely()) given = cursor.coin() ? 0 : given - (given > 0 ? 1 : 0);
    return cursor.byte() == 0xFF ? nullptr : static_cast<void*>(bytes->bytes().data());
  }
};

}  // namespace dequant::fuzz
