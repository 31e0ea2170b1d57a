// Names of files that are not finished yet, so that a signal that ends the process takes them away.
#pragma once

#include <string>

namespace dequant::format {

/// A handler for signals whose default is to end the process: unlinks every unfinished name, then
/// ends the process by the signal's default action, so that its parent process sees which signal it
/// was. While any thread has an Uninterrupted, the destructor of the last one does both. The
/// library installs this handler nowhere: a program decides what signals do.
void end_by_signal(int number);

/// While one exists, end_by_signal() waits, on every thread. Names of files are made, changed and
/// removed only meanwhile. Costs two atomic operations.
class Uninterrupted {
 public:
  Uninterrupted();
  Uninterrupted(const Uninterrupted&) = delete;
  Uninterrupted& operator=(const Uninterrupted&) = delete;
  ~Uninterrupted();
};

/// The name of an unfinished file, which end_by_signal() unlinks. An Uninterrupted must exist where
/// an UnfinishedName is made, and where one is destroyed that was not moved from. At most 32 names
/// are unlinked: later ones stay after the signal.
class UnfinishedName {
 public:
  UnfinishedName() = default;
  /// The descriptor of the directory must stay open as long as this object exists.
  UnfinishedName(int directory, std::string name);
  UnfinishedName(UnfinishedName&& other) noexcept;
  UnfinishedName& operator=(UnfinishedName&& other) noexcept;
  ~UnfinishedName();

  bool empty() const { return name_.empty(); }
  const char* c_str() const { return name_.c_str(); }

 private:
  void swap(UnfinishedName& other) noexcept;

  std::string name_;
  int slot_ = -1;
};

}  // namespace dequant::format
