// The options that decide what a conversion writes: those of `convert` and of `plan`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "format/model/convert.h"
#include "tools/arguments.h"
#include "tools/common.h"
#include "tools/reading_options.h"

namespace dequant::tools {

/// Sets ShareOptions::task_bytes. Fails with invalid_argument where it is too small.
Status set_task_bytes(uint64_t bytes, format::ShareOptions& share);

class ConvertOptions {
 public:
  void add_to(const Command& command);
  /// The options of the library without those that the command adds; valid as long as this object.
  format::ConvertOptions library();

  /// The option --task-size, of conversions that are cut into tasks.
  std::optional<uint64_t> task_bytes() const { return task_bytes_; }

 private:
  ReadingOptions reading_;
  Resources resources_;
  format::Selection selection_;
  bool require_float_ = false;
  std::string dtype_;
  std::optional<uint64_t> task_bytes_;
  // Only of some formats:
  bool strip_qdq_ = false;
  std::optional<std::string> clip_;
  bool assume_const_ = false;
  bool external_data_ = false;
  std::optional<std::string> others_;
  std::optional<std::string> max_shard_size_;
  std::optional<std::string> shards_;
};

}  // namespace dequant::tools
