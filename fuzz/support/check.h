// What must hold for every input. A target aborts where it does not, which is how libFuzzer learns
// of it.
#pragma once

#include <string_view>

#include "dequant/plan.h"
#include "dequant/status.h"

namespace dequant::fuzz {

/// Aborts, saying what is wrong, unless `good`.
void require(bool good, std::string_view what);

/// A refusal says why: some text, no control characters, a code that exists.
void check_error(const Error& error);

template <class T>
bool accepted(const Result<T>& result) {
  if (!result) check_error(result.error());
  return static_cast<bool>(result);
}

/// The plan that `make` makes, if it does; made twice, with the same outcome.
template <class Make>
Result<Plan> planned(Make&& make) {
  Result<Plan> first = make();
  const Result<Plan> second = make();
  require(accepted(first) == accepted(second), "planned twice, refused once");
  if (first) {
    require(*first == *second, "planned twice, two plans");
    check_error({ErrorCode::invalid_argument, to_string(*first)});  // for people, too
  } else {
    require(first.error().message == second.error().message, "refused twice, for two reasons");
  }
  return first;
}

}  // namespace dequant::fuzz
