// How functions report failure: they return a Result<T>, which holds a value or an Error, or a
// Status, which holds nothing or an Error. The library does not print, abort or exit.
#pragma once

#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "dequant/export.h"

namespace dequant {

/// The kind of a failure, by who can do something about it.
enum class ErrorCode {
  invalid_argument,  ///< the caller: an argument or a node breaks a rule of its specification
  malformed,         ///< whoever made the file: its bytes contradict its format
  limit,             ///< the caller: a documented limit is exceeded
  unsupported,       ///< nobody here: legal, but not something dequant does exactly
  io,                ///< the system: a file cannot be read or written
  out_of_memory,     ///< the system: an allocation failed
};

/// The name of a code as in the enumeration: "invalid_argument", ... For a value outside of the
/// enumeration: "unknown". The text is valid until the process ends.
DEQUANT_EXPORT const char* name(ErrorCode code) noexcept;

/// A failure.
struct Error {
  ErrorCode code = ErrorCode::invalid_argument;
  std::string message;  ///< one sentence that names the tensor or file, the rule and the value
  int system = 0;       ///< errno of the failed system call; 0 if no system call failed
};

/// Thrown by Result::value() if the result holds an error. what() is the message of that error.
class DEQUANT_EXPORT Exception : public std::exception {
 public:
  explicit Exception(Error error) : error_(std::move(error)) {}
  const char* what() const noexcept override { return error_.message.c_str(); }
  const Error& error() const noexcept { return error_; }

 private:
  Error error_;
};

/// Throws Exception(error). The library throws, so that these headers also compile with
/// -fno-exceptions.
[[noreturn]] DEQUANT_EXPORT void throw_exception(Error error);

/// A value of type T, or an Error. True if it holds a value.
///
/// Without exceptions: `if (!result) return result.error();`, then `*result`. With exceptions:
/// `result.value()`, which throws Exception if there is no value; in a program that is compiled
/// with -fno-exceptions it ends the process then. `*result`, `result->` and `result.error()` are
/// undefined if the result holds the other of the two.
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
    if (!*this) throw_exception(std::move(*this).error());
    return std::move(**this);
  }
  const T& value() const& {
    if (!*this) throw_exception(error());
    return **this;
  }

 private:
  std::variant<T, Error> state_;
};

/// Success, or an Error. True on success; error() is undefined then.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit

  explicit operator bool() const noexcept { return !error_.has_value(); }
  const Error& error() const& noexcept { return *error_; }
  Error&& error() && noexcept { return std::move(*error_); }
  void value() const {
    if (error_) throw_exception(*error_);
  }

 private:
  std::optional<Error> error_;
};

/// What functions return that give no value.
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

/// DEQUANT_TRY(auto x, f()); declares x with the value of the Result that f() returns, or returns
/// its error from the calling function, whose type is any Result.
#define DEQUANT_TRY(declaration, expression) \
  DEQUANT_TRY_(DEQUANT_JOIN(dequant_result_, __COUNTER__), declaration, expression)

/// DEQUANT_CHECK(f()); continues if the Status that f() returns is a success, or returns its error
/// from the calling function, whose type is any Result.
#define DEQUANT_CHECK(expression) \
  DEQUANT_CHECK_(DEQUANT_JOIN(dequant_status_, __COUNTER__), expression)
