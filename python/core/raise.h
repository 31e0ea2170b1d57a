// Exceptions of Python for errors of the library.
#pragma once

#include <utility>

#include "dequant/status.h"

namespace dequant::python {

/// Imports the exception classes of the package. Called once, before all other functions of this
/// file.
void find_errors();

/// Raises the exception for an error code, with the library's message: dequant.UnsupportedError
/// for `unsupported`, OSError for `io`, MemoryError for `out_of_memory`, otherwise ValueError.
[[noreturn]] void raise(const Error& error);

/// The value of a result; raises the exception of its error.
template <class T>
T checked(Result<T> result) {
  if (!result) raise(result.error());
  return *std::move(result);
}

}  // namespace dequant::python
