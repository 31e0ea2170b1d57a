// The option --names of the commands that read model files.
#pragma once

#include <optional>
#include <string>

#include "format/model/format.h"
#include "tools/arguments.h"

namespace dequant::tools {

class NamesOption {
 public:
  void add_to(const Command& command);

  /// For a file of a format that must have the option.
  void set(format::OpenOptions& options) const;
  /// For two files that are compared, of formats of which one must have the option.
  void set_where_known(format::OpenOptions& options) const;
  /// Fails with invalid_argument where the option is given and neither format has it.
  Status check(const format::ModelFile& a, const format::ModelFile& b) const;

 private:
  std::optional<std::string> names_;
};

}  // namespace dequant::tools
