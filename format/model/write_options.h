// What a conversion is asked to do, whatever the format.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "format/io/output.h"
#include "format/model/stream.h"

namespace dequant::format {

/// Which tensors are dequantized, by globs over their names.
struct Selection {
  std::vector<std::string> include;  ///< none: all
  std::vector<std::string> exclude;

  /// True if some name matches a glob of `include`, or there are none, and no name one of
  /// `exclude`. Empty names match nothing.
  bool wants(std::initializer_list<const char*> names) const;
};

/// Hears of bytes of output, one call at a time, on any thread; while nothing is written yet, of
/// nothing done and no total. The last call, with all done, comes before the output gets its name.
/// An error stops the work and comes out of it, and nothing is written.
using Progress = std::function<Status(int64_t done, int64_t total)>;

struct WriteOptions {
  Selection selection;
  /// The type of the floats that tensors become, rounded once from float32; none: as recipes say.
  std::optional<Element> dtype = std::nullopt;
  bool require_float = false;  ///< fail with unsupported where anything stays quantized
  bool dry_run = false;        ///< decide and report, write nothing
  Overwrite overwrite = Overwrite::refuse;
  StreamOptions stream;
  Progress progress;
};

}  // namespace dequant::format
