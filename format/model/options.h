// How a model file is opened, and options that only some formats have.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace dequant::format {

/// Options that not every format reads, by their names on the command line without dashes, each
/// with a text or, where it says yes, with none. A format lists those that it reads; open_model()
/// refuses all others.
class FormatOptions {
 public:
  using Map = std::map<std::string, std::string, std::less<>>;

  void set(std::string name, std::string value = {}) {
    given_.insert_or_assign(std::move(name), std::move(value));
  }
  /// Sets an option that says yes if `given`.
  void set_if(bool given, std::string name) {
    if (given) set(std::move(name));
  }

  bool has(std::string_view name) const { return given_.contains(name); }

  /// The text of an option; `otherwise` where it is not given.
  std::string_view value(std::string_view name, std::string_view otherwise) const {
    const auto found = given_.find(name);
    return found == given_.end() ? otherwise : found->second;
  }

  const Map& given() const { return given_; }

 private:
  Map given_;
};

struct OpenOptions {
  /// Bytes that the structure of a file, all but tensor data, may take in memory where that is more
  /// than its format allows by itself.
  int64_t memory = 0;
  FormatOptions own;
};

}  // namespace dequant::format
