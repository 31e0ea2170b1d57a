// The files of a checkpoint's folder without tensors: tokenizers, templates, code, licences.
#pragma once

#include <string>
#include <vector>

#include "format/checkpoint/shards.h"

namespace dequant::format::checkpoint {

struct OtherFile {
  std::string name;  ///< relative to the folder
  int64_t bytes = 0;
};

struct OtherFiles {
  std::vector<OtherFile> copied;  ///< sorted
  /// Files that the output must not have: other weights, and where it is dense configurations of
  /// quantization. And, without what is in them, links to folders; and files and folders whose
  /// names begin with a dot. Sorted.
  std::vector<std::string> left_out;
};

/// The files of the folder and the folders in it, but for the folder `output`, which may be one of
/// these. `is_dense`: the output has no quantized tensors. Fails with io, and with limit where
/// there are more than 10,000.
Result<OtherFiles> other_files(const Shards& shards, const std::string& output, bool is_dense);

/// Opens one of them. Fails with io, also for a link that leaves the folder, other than the links
/// of the Hugging Face cache.
Result<InputFile> open_other(const Shards& shards, const std::string& name);

}  // namespace dequant::format::checkpoint
