// Options of opening a model file, and options that only some formats have.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "dequant/status.h"
#include "format/io/file.h"

namespace dequant::format {

/// Options that only some formats read: names as on the command line, without dashes, each with a
/// value. The value of a flag is empty. Format::options lists the options of a format; open_model()
/// refuses all other names.
class FormatOptions {
 public:
  using Map = std::map<std::string, std::string, std::less<>>;

  void set(std::string name, std::string value = {}) {
    given_.insert_or_assign(std::move(name), std::move(value));
  }
  /// Sets a flag if `given` is true.
  void set_if(bool given, std::string name) {
    if (given) set(std::move(name));
  }

  bool has(std::string_view name) const { return given_.contains(name); }

  /// True if a flag is set. Fails with invalid_argument for a flag with a value.
  Result<bool> flag(std::string_view name) const;

  /// The value of an option, or `otherwise` where the option is not set.
  std::string_view value(std::string_view name, std::string_view otherwise) const {
    const auto found = given_.find(name);
    return found == given_.end() ? otherwise : found->second;
  }

  const Map& given() const { return given_; }

 private:
  Map given_;
};

/// A model whose file is in memory.
struct ModelBytes {
  MemoryBytes memory;
  /// The folder of the other files that the model names; empty: there is none, and a model that
  /// names files is refused.
  std::string folder = {};
};

struct OpenOptions {
  /// Bytes of memory allowed for the structure of a file, which is all but tensor data. Only counts
  /// where it is more than the limit of the format.
  int64_t memory = 0;
  FormatOptions own;  ///< of the format
  /// Options of formats that have them: of two files that are compared, perhaps one has.
  FormatOptions where_known = {};
  /// The model in memory, in place of the file at the path, which is then a name for messages.
  std::optional<ModelBytes> bytes = std::nullopt;
};

}  // namespace dequant::format
