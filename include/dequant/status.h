// How dequant reports failure: Error, Result<T> and Status. Nothing here prints, aborts or exits.
#pragma once

#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "dequant/export.h"

namespace dequant {

/// Who can act on a failure.
enum class ErrorCode {
  invalid_argument,  ///< the caller: an argument or a node breaks a rule of its specification
  malformed,         ///< whoever made the file: its bytes contradict its format
  limit,             ///< the caller: a documented limit is exceeded
  unsupported,       ///< nobody here: legal, but not something dequant does exactly
  io,                ///< the system: a file cannot be read or written
  out_of_memory,     ///< the system: an allocation failed
};

/// The name of a code, as in the enumeration.
DEQUANT_EXPORT const char* name(ErrorCode code) noexcept;

/// A failure: its code and one sentence that names the tensor, the rule and the value.
struct Error {
  ErrorCode code = ErrorCode::invalid_argument;
  std::string message;
  int system = 0;  ///< errno of what the system refused; 0 where it was not the system
};

/// What Result::value() throws when there is no value. `what()` is the error's message.
class DEQUANT_EXPORT Exception : public std::exception {
 public:
  explicit Exception(Error error) : error_(std::move(error)) {}
  const char* what() const noexcept override { return error_.message.c_str(); }
  const Error& error() const noexcept { return error_; }

 private:
  Error error_;
};

/// A value or an Error. Test it, then read `*result` or `result.error()`; or call `value()`, which
/// throws Exception in place of a missing value.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit

  explicit operator bool() const noexcept { return state_.index() == 0; }

  T& operator*() & noexcept { return *std::get_if<0>(&state_); }
  const T& operator*() const& noexcept { return *std::get_if<0>(&state_); }
  T&& operator*() && noexcept { return std::move(*std::get_if<0>(&state_)); }
  T* operator->() noexcept { return std::get_if<0>(&state_); }
  const T* operator->() const noexcept { return std::get_if<0>(&state_); }

  const Error& error() const& noexcept { return *std::get_if<1>(&state_); }
  Error&& error() && noexcept { return std::move(*std::get_if<1>(&state_)); }

  T value() && {
    if (!*this) throw Exception(std::move(*this).error());
    return std::move(**this);
  }
  const T& value() const& {
    if (!*this) throw Exception(error());
    return **this;
  }

 private:
  std::variant<T, Error> state_;
};

/// Success or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit

  explicit operator bool() const noexcept { return !error_.has_value(); }
  const Error& error() const& noexcept { return *error_; }
  Error&& error() && noexcept { return std::move(*error_); }
  void value() const {
    if (error_) throw Exception(*error_);
  }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace dequant

#define DEQUANT_JOIN_(a, b) a##b
#define DEQUANT_JOIN(a, b) DEQUANT_JOIN_(a, b)
#define DEQUANT_TRY_(result, declaration, expression) \
  auto result = (expression);                         \
  if (!result) return std::move(result).error();      \
  declaration = *std::move(result)
#define DEQUANT_CHECK_(status, expression)         \
  do {                                             \
    auto status = (expression);                    \
    if (!status) return std::move(status).error(); \
  } while (false)

/// `DEQUANT_TRY(auto x, f());` declares x from a Result, or returns its error from this function.
#define DEQUANT_TRY(declaration, expression) \
  DEQUANT_TRY_(DEQUANT_JOIN(dequant_result_, __COUNTER__), declaration, expression)

/// `DEQUANT_CHECK(f());` goes on when the Status is good, or returns its error from this function.
#define DEQUANT_CHECK(expression) \
  DEQUANT_CHECK_(DEQUANT_JOIN(dequant_status_, __COUNTER__), expression)
