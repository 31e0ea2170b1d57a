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

struct Slot {
  std::atomic<bool> used{false};
  std::atomic<bool> noted{false};  ///< directory and name are set
  int directory = -1;
  std::array<char, NAME_MAX + 1> name{};
};

constinit std::array<Slot, 32> slots;
constinit std::atomic<int> uninterrupted{0};  ///< how many there are, of all threads
constinit std::atomic<int> received{0};       ///< the signal that ends the process
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

int claim(int directory, const std::string& name) {
  if (name.size() > NAME_MAX) return -1;
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].used.exchange(true)) continue;
    slots[i].directory = directory;
    std::memcpy(slots[i].name.data(), name.c_str(), name.size() + 1);
    slots[i].noted = true;
    return static_cast<int>(i);
  }
  return -1;
}

/// No Uninterrupted exists, so no slot changes.
[[noreturn]] void unlink_and_end(int number) {
  for (const Slot& slot : slots) {
    if (slot.noted) ::unlinkat(slot.directory, slot.name.data(), 0);
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
// order for all threads: a handler that sees an Uninterrupted leaves the end of the process to its
// destructor, and an Uninterrupted that the handler does not see, sees the signal.

void leave() {
  const bool last = uninterrupted.fetch_sub(1) == 1;
  const int number = received;
  if (number == 0) return;
  if (last) unlink_and_end(number);
  wait_for_the_end();  // by another thread, whose Uninterrupted still exists
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
    : name_(std::move(name)), slot_(claim(directory, name_)) {}

UnfinishedName::UnfinishedName(UnfinishedName&& other) noexcept { swap(other); }

UnfinishedName& UnfinishedName::operator=(UnfinishedName&& other) noexcept {
  UnfinishedName taken(std::move(other));
  swap(taken);
  return *this;
}

UnfinishedName::~UnfinishedName() {
  if (slot_ < 0) return;
  Slot& slot = slots[static_cast<size_t>(slot_)];
  slot.noted = false;
  slot.used = false;
}

void UnfinishedName::swap(UnfinishedName& other) noexcept {
  name_.swap(other.name_);
  std::swap(slot_, other.slot_);
}

}  // namespace dequant::format
