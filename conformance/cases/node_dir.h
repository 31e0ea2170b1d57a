// Checking a node test of ONNX: a directory with model.onnx and, for each test_data_set_*, its
// inputs and outputs as input_0.pb, output_0.pb and so on.
#pragma once

#include <string>
#include <vector>

#include "conformance/cases/outcome.h"
#include "dequant/status.h"

namespace dequant::conformance {

/// One outcome per data set, in the order of their numbers, named "directory/test_data_set_0".
struct NodeDirOutcome {
  std::vector<Outcome> sets;
};

/// Evaluates the model on each data set and compares all outputs bit for bit. A model with
/// operators that evaluate() does not have is skipped. Fails with io or malformed when the files
/// cannot be read or do not match each other.
Result<NodeDirOutcome> check_node_directory(const std::string& dir);

}  // namespace dequant::conformance
