// Where the files of a conversion get their names, and what may stay quantized.
#include "format/dense/job.h"

#include <fmt/format.h>

#include "format/io/errors.h"
#include "format/io/output.h"

namespace dequant::format::dense {

std::string Job::path_of(const OutputShard& shard, const std::string& output) const {
  if (!to_folder() && shards().size() == 1) return output;
  return fmt::format("{}/{}", to_folder() ? output : folder_of(output), shard.name);
}

std::vector<std::string> Job::names(const std::string& output) const {
  std::vector<std::string> all;
  for (const OutputShard& shard : shards()) all.push_back(path_of(shard, output));
  return all;
}

Status check_left(const std::string& path, const ConvertReport& report,
                  const WriteOptions& options) {
  if (!options.require_float || report.left.empty()) return {};
  return failure(ErrorCode::unsupported, "{}: {} tensors would stay quantized, the first is {}",
                 escaped(path), report.left.size(), escaped(report.left[0].name));
}

}  // namespace dequant::format::dense
