// Finding the case files and node tests under a path.
#pragma once

#include <string>
#include <vector>

#include "dequant/status.h"

namespace dequant::conformance {

/// A case file or a node test.
struct Checkable {
  enum class Kind {
    case_file,       ///< a case file
    node_directory,  ///< a directory with model.onnx and test_data_set_*/
  };
  Kind kind = Kind::case_file;
  std::string path;

  friend bool operator==(const Checkable&, const Checkable&) = default;
};

/// A path of a file is a case file. A path of a directory is a node test, or is searched
/// recursively for node tests and files named *.json, in the order of their names. Links are
/// followed, but no directory is searched twice. Fails with io when a path cannot be read, and with
/// invalid_argument when a directory has nothing to check.
Result<std::vector<Checkable>> find_checkables(const std::string& path);

/// Names of the files and directories in a directory, sorted. Fails with io.
Result<std::vector<std::string>> names_in(const std::string& directory);

/// "directory/name".
std::string joined(const std::string& directory, const std::string& name);

}  // namespace dequant::conformance
