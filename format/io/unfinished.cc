// A fixed table, as a signal handler may neither allocate nor wait for a lock.
#include "format/io/unfinished.h"

#include <pthread.h>
#include <unistd.h>
#include <climits>
#include <csignal>

#include <array>
#include <atomic>
#include <cstring>
#include <utility>

namespace dequant::format {
namespace {

struct Place {
  std::atomic<bool> used{false};
  std::atomic<bool> noted{false};  ///< directory and name are set
  int directory = -1;
  std::array<char, NAME_MAX + 1> name{};
};

constinit std::array<Place, 32> places;
constinit std::atomic<int> uninterrupted{0};  ///< how many there are, of all threads
constinit std::atomic<int> received{0};       ///< the signal that ends the process
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

int claim(int directory, const std::string& name) {
  if (name.size() > NAME_MAX) return -1;
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i].used.exchange(true)) continue;
    places[i].directory = directory;
    std::memcpy(places[i].name.data(), name.c_str(), name.size() + 1);
    places[i].noted = true;
    return static_cast<int>(i);
  }
  return -1;
}

/// No Uninterrupted lives, so no place changes.
[[noreturn]] void unlink_and_end(int number) {
  for (const Place& place : places) {
    if (place.noted) ::unlinkat(place.directory, place.name.data(), 0);
  }
  struct sigaction by_default {};
  by_default.sa_handler = SIG_DFL;
  ::sigaction(number, &by_default, nullptr);
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, number);
  ::pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  ::raise(number);
  ::_exit(128 + number);
}

[[noreturn]] void wait_for_the_end() {
  for (;;) ::pause();
}

// leave() and end_by_signal() each write their own variable before they read the other's, in one
// order for all threads: a handler that sees a stretch leaves the end to it, and a stretch that the
// handler does not see, sees the signal.

void leave() {
  const bool last = uninterrupted.fetch_sub(1) == 1;
  const int number = received;
  if (number == 0) return;
  if (last) unlink_and_end(number);
  wait_for_the_end();  // which comes from a thread that is still within a stretch
}

}  // namespace

void end_by_signal(int number) {
  received = number;
  if (uninterrupted == 0) unlink_and_end(number);
}

Uninterrupted::Uninterrupted() {
  ++uninterrupted;
  if (received != 0) leave();
}

Uninterrupted::~Uninterrupted() { leave(); }

UnfinishedName::UnfinishedName(int directory, std::string name)
    : name_(std::move(name)), place_(claim(directory, name_)) {}

UnfinishedName::UnfinishedName(UnfinishedName&& other) noexcept { swap(other); }

UnfinishedName& UnfinishedName::operator=(UnfinishedName&& other) noexcept {
  UnfinishedName taken(std::move(other));
  swap(taken);
  return *this;
}

UnfinishedName::~UnfinishedName() {
  if (place_ < 0) return;
  Place& place = places[static_cast<size_t>(place_)];
  place.noted = false;
  place.used = false;
}

void UnfinishedName::swap(UnfinishedName& other) noexcept {
  name_.swap(other.name_);
  std::swap(place_, other.place_);
}

}  // namespace dequant::format
