// Expecting a failure by its code and a word of its message.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "dequant/status.h"
#include "support/print.h"

namespace dequant::testing {

/// For EXPECT_TRUE: the result is an error of that code whose message has that word.
template <class T>
::testing::AssertionResult fails(const Result<T>& result, ErrorCode code, std::string_view word) {
  if (result) return ::testing::AssertionFailure() << "succeeded";
  const Error& error = result.error();
  const bool good = error.code == code && error.message.find(word) != std::string::npos;
  if (good) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << name(error.code) << ": \"" << error.message
                                       << "\", not a " << name(code) << " with \"" << word << "\"";
}

template <class T>
::testing::AssertionResult is_invalid(const Result<T>& result, std::string_view word) {
  return fails(result, ErrorCode::invalid_argument, word);
}

/// For EXPECT_TRUE: no error; prints the message of the one there is.
template <class T>
::testing::AssertionResult succeeds(const Result<T>& result) {
  if (result) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << result.error().message;
}

}  // namespace dequant::testing
