// The files of a checkpoint's folder without tensors.
#include "format/checkpoint/other_files.h"

#include <algorithm>
#include <filesystem>

#include "format/checkpoint/names.h"
#include "format/dense/output_folder.h"
#include "format/io/below.h"
#include "format/io/errors.h"

namespace dequant::format::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostFiles = 10'000;

bool says_it_is_quantized(std::string_view name) {
  return std::find(kQuantizationFiles.begin(), kQuantizationFiles.end(), name) !=
         kQuantizationFiles.end();
}

}  // namespace

Result<OtherFiles> other_files(const Shards& shards, const std::string& output, bool is_dense) {
  OtherFiles files;
  std::error_code e;
  fs::recursive_directory_iterator at(shards.folder(), e);
  for (; !e && at != fs::recursive_directory_iterator(); at.increment(e)) {
    const std::string name = at->path().filename().string();
    const std::string relative = fs::path(at->path()).lexically_relative(shards.folder()).string();
    std::error_code ignored;  // a dangling link is an error when it is copied
    const bool is_hidden = name.starts_with('.');
    const bool is_folder = at->is_directory(ignored);
    const bool is_output = is_folder && fs::equivalent(at->path(), output, ignored);
    // The iterator does not follow links, which may lead out of the folder or in circles.
    if (is_folder && !is_hidden && !is_output && !at->is_symlink(ignored)) continue;
    if (is_folder) at.disable_recursion_pending();
    if (is_output) continue;
    if (relative == kConfig) continue;
    const bool is_shard = std::any_of(shards.files().begin(), shards.files().end(),
                                      [&](const Shard& shard) { return shard.name == relative; });
    if (is_shard || relative == shards.index()) continue;
    const bool is_stale = dense::is_weight(name) || (is_dense && says_it_is_quantized(name));
    if (is_folder || is_hidden || is_stale) {
      files.left_out.push_back(relative);
    } else {
      const auto bytes = at->file_size(ignored);
      files.copied.push_back({relative, ignored ? 0 : static_cast<int64_t>(bytes)});
    }
    if (files.copied.size() + files.left_out.size() > kMostFiles) {
      return failure(ErrorCode::limit, "{}: more than {} files", escaped(shards.folder()),
                     kMostFiles);
    }
  }
  if (e) return failure(ErrorCode::io, "{}: {}", escaped(shards.folder()), e.message());
  std::sort(files.copied.begin(), files.copied.end(),
            [](const OtherFile& a, const OtherFile& b) { return a.name < b.name; });
  std::sort(files.left_out.begin(), files.left_out.end());
  return files;
}

Result<InputFile> open_other(const Shards& shards, const std::string& name) {
  return open_listed("file", shards.anchor(), name);
}

}  // namespace dequant::format::checkpoint
