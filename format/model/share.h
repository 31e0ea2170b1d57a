// Conversions that several processes carry out together, on any number of machines: the work is cut
// into tasks, which are independent of each other. Each task leaves a record in a folder beside its
// output; once all records are there, the output is completed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dequant/plan.h"

namespace dequant::format {

/// The part of a conversion that one call carries out. The tasks depend on the input, the options
/// and the version alone, not on the numbers of this struct except `task_bytes`.
struct ShareOptions {
  enum class Step {
    plan,      ///< report the tasks, write nothing
    run,       ///< carry out the tasks of a share that have no record
    finalize,  ///< check the records of all tasks and complete the output
  };

  Step step = Step::plan;
  /// Bytes that a task writes: a longer file of the output has several tasks. At least 4096.
  int64_t task_bytes = 5'000'000'000;
  // Of run:
  int64_t index = 0;  ///< from 0 on, below `count`
  int64_t count = 1;
  std::optional<int64_t> task = std::nullopt;  ///< this task alone, whatever the share
  /// What the conversion must have as its fingerprint; empty: anything.
  std::string fingerprint = {};
  // Of finalize:
  bool read_again = false;  ///< also compare the hashes of all bytes of the output
  /// The input and the options as JSON, for finalize(); empty: conversion_text() makes it.
  std::string conversion = {};
};

/// Bytes of a file of the input that a task reads.
struct ReadRange {
  std::string file;
  Range bytes;
};

/// A task, and what is known of it.
struct TaskReport {
  enum class State {
    planned,
    done,     ///< by this call
    found,    ///< its record was there
    missing,  ///< it has no true record; see `reason`
  };

  int64_t number = 0;
  std::string file;                   ///< of the output
  Range bytes;                        ///< of that file
  std::vector<ReadRange> reads = {};  ///< only of the step plan
  State state = State::planned;
  std::string reason = {};
};

/// The tasks of a conversion: of the step run those of the share, else all.
struct ShareReport {
  std::string fingerprint;  ///< of the input, the options and the version
  std::string folder;       ///< with the records, and with the output until it is complete
  int64_t count = 0;        ///< tasks of the conversion
  std::vector<TaskReport> tasks;
  bool complete = false;  ///< the output is complete
};

}  // namespace dequant::format
