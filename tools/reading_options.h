// The options of all commands that read model files: --names, --no-checksum, --keep-unknown.
#pragma once

#include <optional>
#include <string>

#include "format/model/options.h"
#include "tools/arguments.h"

namespace dequant::tools {

class ReadingOptions {
 public:
  void add_to(const Command& command);

  /// The options that were given, for OpenOptions.
  format::FormatOptions given() const;

 private:
  std::optional<std::string> names_;
  bool no_checksum_ = false;
  bool keep_unknown_ = false;
};

}  // namespace dequant::tools
