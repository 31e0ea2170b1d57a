// Options of all dialects of `dequant op`, and running an operation once it is planned.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "dequant/plan.h"
#include "tools/arguments.h"
#include "tools/common.h"
#include "tools/op_tensor.h"

namespace dequant::tools {

/// A check for options: refuses an empty value, as of an unset shell variable.
std::string not_empty(const std::string& text);

/// Options of every dialect.
struct OpOptions {
  std::string x;
  std::string x_type;
  std::string output;
  bool force = false;
  bool dry_run = false;
  bool json = false;
  Threads threads;

  /// Adds x and its type, which come first in the help.
  void add_x(const Command& command, const char* types);
  /// Adds the other options, which come last.
  void add_rest(const Command& command);
};

/// A planned operator.
struct Operation {
  std::string dialect;
  Plan plan;
  std::vector<OpTensor> inputs;  ///< with the names of Buffers: x, scale, min_range, ...
  std::vector<int64_t> y_shape;  ///< has as many elements as y of the plan
  std::span<const std::byte> codebook = {};  ///< where no input has the values of codes
  BufferNames names = {};                    ///< for messages
};

/// Reads the data, runs the operation, writes y, and prints the report; with --dry-run only prints
/// the report. Fails as load(), run() and OutputFile do.
Status carry_out(Operation& operation, OpOptions& options);

/// Adds dialects to `dequant op`.
void add_op_linear(const Command& op, int& exit_code);
void add_op_tensorflow(const Command& op, int& exit_code);
void add_op_directml(const Command& op, int& exit_code);
void add_op_schemes(const Command& op, int& exit_code);

}  // namespace dequant::tools
