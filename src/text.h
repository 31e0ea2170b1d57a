// Builds the sentences of errors without a formatting library.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "dequant/status.h"
#include "dequant/tensor.h"

namespace dequant {

/// A part of a sentence: a text, or an integer to be written in decimal. A Part refers to its text,
/// which must outlive the Part.
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
  uint64_t number_ = 0;  ///< a negative number in two's complement
};

/// The concatenation of the parts.
std::string joined(std::initializer_list<Part> parts);

/// An Error with the code invalid_argument and the concatenation of the parts as its sentence.
[[gnu::cold]] Error invalid_of(std::initializer_list<Part> parts);

template <class... Parts>
std::string concat(const Parts&... parts) {
  return joined({Part(parts)...});
}

template <class... Parts>
Error invalid(const Parts&... parts) {
  return invalid_of({Part(parts)...});
}

/// A shape as text, as in "[2, 3]".
std::string to_string(Shape shape);

}  // namespace dequant
