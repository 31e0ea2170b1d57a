// Names of files that are not finished yet, so that a signal that ends the process takes them away.
#pragma once

#include <string>

namespace dequant::format {

/// A handler for signals whose default is to end the process: unlinks every unfinished name, then
/// ends the process by the signal's default action, so that its parent sees which one it was. While
/// an Uninterrupted lives on some thread, the last of them to go does that. The library installs it
/// nowhere: what signals do is for the program to say.
void end_by_signal(int number);

/// A stretch of a thread's work that ends as a whole before end_by_signal() acts: names appear,
/// change and vanish in such a stretch only. Costs two atomic operations.
class Uninterrupted {
 public:
  Uninterrupted();
  Uninterrupted(const Uninterrupted&) = delete;
  Uninterrupted& operator=(const Uninterrupted&) = delete;
  ~Uninterrupted();
};

/// The name of an unfinished file, for end_by_signal(). It is made, and destroyed unless moved
/// from, while an Uninterrupted lives. Of more names than there are places for, the later ones
/// outlive the signal.
class UnfinishedName {
 public:
  UnfinishedName() = default;
  /// The descriptor of the directory must live longer.
  UnfinishedName(int directory, std::string name);
  UnfinishedName(UnfinishedName&& other) noexcept;
  UnfinishedName& operator=(UnfinishedName&& other) noexcept;
  ~UnfinishedName();

  bool empty() const { return name_.empty(); }
  const char* c_str() const { return name_.c_str(); }

 private:
  void swap(UnfinishedName& other) noexcept;

  std::string name_;
  int place_ = -1;
};

}  // namespace dequant::format
