// Searches directories with an explicit stack, in an order that does not depend on the file system.
#include "conformance/cases/find.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "format/io/errors.h"
#include "format/io/file.h"

namespace dequant::conformance {

using format::escaped;
using format::failure;
using format::FileIdentity;
using format::identity_of;

namespace {

namespace fs = std::filesystem;

bool is_directory(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

/// True if a directory with these entries is a node test.
bool is_node_test(const std::string& directory, const std::vector<std::string>& entries) {
  const auto is_set = [&](const std::string& entry) {
    return entry.starts_with("test_data_set_") && is_directory(joined(directory, entry));
  };
  return std::binary_search(entries.begin(), entries.end(), "model.onnx") &&
         std::any_of(entries.begin(), entries.end(), is_set);
}

class Search {
 public:
  Status from(std::string directory) {
    waiting_.push_back(std::move(directory));
    while (!waiting_.empty()) {
      const std::string next = std::move(waiting_.back());
      waiting_.pop_back();
      DEQUANT_CHECK(visit(next));
    }
    return {};
  }

  std::vector<Checkable> found;

 private:
  Status visit(const std::string& path) {
    if (!is_directory(path)) {
      found.push_back({Checkable::Kind::case_file, path});
      return {};
    }
    const FileIdentity id = identity_of(path);
    if (!entered_.insert({id.device, id.inode}).second) return {};
    DEQUANT_TRY(const std::vector<std::string> entries, names_in(path));
    if (is_node_test(path, entries)) {
      found.push_back({Checkable::Kind::node_directory, path});
      return {};
    }
    // Pushed in reverse order, as the last one is popped first.
    for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
      std::string child = joined(path, *entry);
      if (entry->ends_with(".json") || is_directory(child)) waiting_.push_back(std::move(child));
    }
    return {};
  }

  std::vector<std::string> waiting_;
  std::set<std::pair<uint64_t, uint64_t>> entered_;
};

}  // namespace

std::string joined(const std::string& directory, const std::string& name) {
  return directory.ends_with('/') ? directory + name : directory + '/' + name;
}

Result<std::vector<std::string>> names_in(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    names.push_back(at->path().filename().string());
  }
  if (error) {
    return failure(ErrorCode::io, "cannot read the folder {}: {}", escaped(directory),
                   error.message());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::vector<Checkable>> find_checkables(const std::string& path) {
  Search search;
  DEQUANT_CHECK(search.from(path));
  if (search.found.empty()) {
    return failure(
        ErrorCode::invalid_argument,
        "nothing to check in {}: no case file (*.json) and no ONNX node test (model.onnx "
        "beside test_data_set_*)",
        escaped(path));
  }
  return std::move(search.found);
}

}  // namespace dequant::conformance
