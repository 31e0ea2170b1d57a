// Options and output that several subcommands have: threads, memory, progress, and words for plans.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "dequant/executor.h"
#include "dequant/plan.h"
#include "format/model/stream.h"
#include "tools/arguments.h"
#include "tools/terminal_line.h"

namespace dequant::tools {

/// The option -T.
class Threads {
 public:
  void add_to(const Command& command);
  /// An executor with that number of threads, valid as long as this object.
  Executor executor();

 private:
  int threads_ = 0;
  std::unique_ptr<ThreadPool> pool_;
};

/// The options -T and --mem.
class Resources {
 public:
  void add_to(const Command& command);
  /// Options with that memory and executor, valid as long as this object.
  format::StreamOptions stream_options();
  /// OpenOptions::memory: the value of --mem, or 0 without it.
  int64_t structure_memory() const;

 private:
  Threads threads_;
  std::optional<uint64_t> memory_;
};

/// A progress bar on standard error, if that is a terminal and the work lasts more than a second.
/// None where the command is to be quiet.
class Progress {
 public:
  explicit Progress(std::string what, bool quiet = false);
  /// As a format::Progress, by std::ref(). Does not fail.
  Status operator()(int64_t done, int64_t total);

 private:
  std::string what_;
  bool quiet_;
  TerminalLine line_;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace dequant::tools
