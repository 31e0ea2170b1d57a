// Building sentences for errors without a formatting library.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "dequant/status.h"
#include "dequant/tensor.h"

namespace dequant {

/// A part of a sentence: text as it is, or an integer in decimal. Lives no longer than what it is
/// made of.
class Part {
 public:
  template <class T>
  requires std::convertible_to<const T&, std::string_view> Part(const T& text) : text_(text) {}

  template <std::integral T>
  Part(T number)
      : is_number_(true), is_negative_(number < 0), number_(static_cast<uint64_t>(number)) {}

  void append_to(std::string& out) const;

 private:
  std::string_view text_;
  bool is_number_ = false;
  bool is_negative_ = false;
  uint64_t number_ = 0;  ///< as it is in two's complement
};

/// The parts one after another.
std::string joined(std::initializer_list<Part> parts);

/// An error of wrong arguments in these words.
[[gnu::cold]] Error invalid_of(std::initializer_list<Part> parts);

template <class... Parts>
std::string concat(const Parts&... parts) {
  return joined({Part(parts)...});
}

template <class... Parts>
Error invalid(const Parts&... parts) {
  return invalid_of({Part(parts)...});
}

/// "[2, 3]".
std::string to_string(Shape shape);

}  // namespace dequant
