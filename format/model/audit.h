// Audits: what a conversion read and wrote, and whether its output is still the same. An audit is a
// text of lines; each line is the JSON object of one tensor of the output.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "format/io/output.h"

namespace dequant::format {

/// A tensor that is not as its audit says.
struct AuditDifference {
  std::string name;
  std::string reason;  ///< "its bytes have the hash ..., not ..."
};

/// The outcome of ModelFile::check_audit().
struct AuditReport {
  int64_t tensors = 0;  ///< in both
  int64_t bytes = 0;    ///< that were read
  std::vector<AuditDifference> wrong;
  std::vector<std::string> missing;     ///< in the audit only
  std::vector<std::string> unexpected;  ///< in the file only

  bool good() const { return wrong.empty() && missing.empty() && unexpected.empty(); }
};

/// Writes an audit. The file appears whole, or not at all.
class AuditWriter {
 public:
  /// Fails as OutputFile::create() does.
  static Result<AuditWriter> create(const std::string& path, Overwrite overwrite);

  /// Appends the line of a tensor.
  Status add(const nlohmann::ordered_json& tensor);
  /// Gives the file its name.
  Status commit() { return out_.commit(); }

 private:
  explicit AuditWriter(OutputFile out) : out_(std::move(out)) {}

  OutputFile out_;
};

/// Calls `visit` with the object of each line. Fails with malformed where a line is not a JSON
/// object, or longer than 1 MiB, with the number of the line; with io; and as `visit` does.
Status read_audit(const std::string& path,
                  const std::function<Status(const nlohmann::json& tensor)>& visit);

}  // namespace dequant::format
