// The safetensors files of a checkpoint, and their tensors by name.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "format/io/file.h"
#include "format/safetensors/header.h"

namespace dequant::format::checkpoint {

/// One file of a checkpoint.
struct Shard {
  std::string name;  ///< within the folder
  InputFile file;
  safetensors::Header header;
};

/// A stored tensor, and the index of the shard that has it.
struct Entry {
  const safetensors::Tensor* tensor = nullptr;
  uint32_t shard = 0;

  std::string_view name() const { return tensor->name; }
  std::string_view dtype() const { return tensor->dtype->name; }
  Shape shape() const { return tensor->shape; }
};

/// All stored tensors of a checkpoint. Addresses of entries are valid as long as this object.
class Shards {
 public:
  /// Opens a .safetensors file, or the files of a folder: the files that its index names, or
  /// model.safetensors, or its only .safetensors file, or files named
  /// NAME-00001-of-00002.safetensors and so on. Of several indexes kModelIndex counts. The path of
  /// an index stands for its folder, and decides between them. Fails with io, also where a folder
  /// has no such file; with malformed or limit; and with unsupported where a folder has several
  /// sets of them.
  static Result<std::unique_ptr<Shards>> open(const std::string& path);
  /// A .safetensors file alone. Fails with malformed, limit or io.
  static Result<std::unique_ptr<Shards>> of_file(InputFile file);

  Shards(const Shards&) = delete;
  Shards& operator=(const Shards&) = delete;

  /// False for a file alone.
  bool is_folder() const { return is_folder_; }
  /// The folder of the files.
  const std::string& folder() const { return folder_; }
  /// The folder of config.json and of other files on how tensors are quantized; empty: none, as of
  /// a file in memory.
  const std::string& config_folder() const { return config_folder_; }
  /// The name of the index in the folder; empty: there is none.
  const std::string& index() const { return index_; }

  const std::vector<Shard>& files() const { return files_; }
  const Shard& file_of(const Entry& entry) const { return files_[entry.shard]; }
  /// All tensors, in the order of the files and of the data within each file.
  std::span<const Entry> entries() const { return entries_; }
  /// The tensor of that name, or null.
  const Entry* find(std::string_view name) const;

  /// All bytes of a tensor. Fails with limit where they are more than `most`, and with io.
  Result<std::vector<std::byte>> read(const Entry& entry, int64_t most) const;

  /// The path of a file of the folder, for open_below().
  const std::string& anchor() const { return anchor_; }

  /// Fails with malformed where a file changed since it was opened.
  Status check_unchanged() const;
  /// Bytes of all files.
  int64_t bytes() const;

 private:
  Shards() = default;
  /// The tensors of a file by the index, name -> file.
  using WeightMap = nlohmann::json;

  /// Finds the index of the folder, if there is one.
  Status find_index(const std::vector<std::string>& names);
  Status open_folder();
  Status open_index();
  Status add_file(const std::string& name);
  Status add_entries();
  Status check_index(const WeightMap& map) const;

  bool is_folder_ = false;
  std::string folder_;
  std::string config_folder_;
  std::string index_;
  std::string anchor_;  ///< the path of the file that stands for the folder in open_below()
  std::vector<Shard> files_;
  std::vector<Entry> entries_;
  std::unordered_map<std::string_view, const Entry*> by_name_;
};

}  // namespace dequant::format::checkpoint
