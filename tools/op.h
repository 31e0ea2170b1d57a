// What the dialects of `dequant op` share: options, and all that follows once there is a plan.
#pragma once

#include <string>
#include <vector>

#include "dequant/plan.h"
#include "tools/arguments.h"
#include "tools/common.h"
#include "tools/op_tensor.h"

namespace dequant::tools {

/// A check for options: an empty text, as of an unset variable, must not count as left out.
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

  /// x and its type, which come first in the help.
  void add_x(const Command& command, const char* types);
  /// The others, which come last.
  void add_rest(const Command& command);
};

/// One operator, planned: what is left is to read, run and write.
struct Operation {
  std::string dialect;
  Plan plan;
  std::vector<OpTensor> inputs;  ///< by the names that Buffers has: x, scale, min_range, ...
  std::vector<int64_t> y_shape;  ///< of as many elements as the plan's y holds
};

/// Reads the data, runs the operation, writes y and says what was done; with --dry-run only the
/// last.
Status carry_out(Operation& operation, OpOptions& options);

/// Fails with io when both paths lead to one file: no output may take the place of an input.
Status check_apart(const std::string& output, const std::string& input);

/// Adds the dialects to `dequant op`.
void add_op_linear(const Command& op, int& exit_code);
void add_op_tensorflow(const Command& op, int& exit_code);
void add_op_directml(const Command& op, int& exit_code);

}  // namespace dequant::tools
