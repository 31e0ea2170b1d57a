// What an executor may do with the numbers of its tasks: every sequence of calls.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace dequant::testing {

/// Calls visit(calls) for every sequence of at most as many calls as there are tasks, of the
/// numbers of all tasks and the first that is none.
template <class Visit>
void every_sequence_of_calls(std::size_t tasks, const Visit& visit) {
  std::vector<std::size_t> calls;
  for (;;) {
    visit(calls);
    // The next one: longer while there is room, else as an odometer counts.
    if (calls.size() < tasks) {
      calls.push_back(0);
      continue;
    }
    while (!calls.empty() && calls.back() == tasks) calls.pop_back();
    if (calls.empty()) return;
    ++calls.back();
  }
}

inline bool runs_every_task(std::size_t tasks, const std::vector<std::size_t>& calls) {
  for (std::size_t i = 0; i < tasks; ++i) {
    if (std::find(calls.begin(), calls.end(), i) == calls.end()) return false;
  }
  return true;
}

}  // namespace dequant::testing
