// Options of a conversion that every format has.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "format/io/output.h"
#include "format/model/share.h"
#include "format/model/stream.h"

namespace dequant::format {

/// Which tensors are dequantized: globs that are matched with their names.
struct Selection {
  std::vector<std::string> include;  ///< empty: all tensors
  std::vector<std::string> exclude;
  mutable std::set<std::string> matched = {};  ///< globs that wants() has matched with a name

  /// True if one of the names matches a glob of `include`, or `include` is empty, and no name
  /// matches a glob of `exclude`. Empty names match nothing. One call at a time.
  bool wants(std::initializer_list<const char*> names) const;
  /// A sentence for each glob that no call of wants() has matched: without it nobody sees that a
  /// glob is mistyped.
  std::vector<std::string> warnings() const;
};

/// Called with the bytes of output that are done and their total, on any thread, one call at a
/// time. Both are 0 until writing begins. The last call, with done == total, comes when the last
/// file of tensors is on the disk and has no name yet. An error ends the conversion, which returns
/// the error and leaves no output.
using Progress = std::function<Status(int64_t done, int64_t total)>;

struct WriteOptions {
  Selection selection;
  /// The type of the floats that tensors become, rounded once from float32; none: that of each
  /// recipe.
  std::optional<Element> dtype = std::nullopt;
  bool require_float = false;  ///< fail with unsupported where anything stays quantized
  bool dry_run = false;        ///< make the report, write nothing; fails where writing would
  Overwrite overwrite = Overwrite::refuse;
  StreamOptions stream;
  Progress progress;
  /// Where set, the output is written to memory instead of a file. Called once, on any thread,
  /// before tensors are computed, with the bytes of the output. Returns memory of that size. A dry
  /// run does not call it.
  std::function<Result<std::span<std::byte>>(int64_t bytes)> memory = {};
  /// Where set, the call carries out a part of the conversion; others carry out the rest.
  std::optional<ShareOptions> share = std::nullopt;
};

}  // namespace dequant::format
