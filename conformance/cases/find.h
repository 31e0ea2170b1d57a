// Finding what there is to check under a path.
#pragma once

#include <string>
#include <vector>

#include "dequant/status.h"

namespace dequant::conformance {

/// Something to check.
struct Checkable {
  enum class Kind {
    case_file,       ///< a case file
    node_directory,  ///< model.onnx beside test_data_set_*/
  };
  Kind kind = Kind::case_file;
  std::string path;

  friend bool operator==(const Checkable&, const Checkable&) = default;
};

/// A file is a case file. A directory is a node test or is searched, with all below it, for node
/// tests and files named *.json, in the order of their names; links are followed, but no directory
/// is entered twice. Fails with io when a path cannot be read, with invalid_argument when a
/// directory holds nothing to check.
Result<std::vector<Checkable>> find_checkables(const std::string& path);

/// Names of the files and directories in a directory, sorted. Fails with io.
Result<std::vector<std::string>> names_in(const std::string& directory);

/// "directory/name".
std::string joined(const std::string& directory, const std::string& name);

}  // namespace dequant::conformance
