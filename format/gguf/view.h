// A stored tensor of a GGUF model under another name and in another order.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "format/model/stored_reader.h"

namespace dequant::format::gguf {

/// A tensor that is a part of a stored one, or all of it.
struct View {
  std::string name = {};
  std::vector<int64_t> shape = {};  ///< as numpy has it
  int64_t offset = 0;               ///< of its first byte, in the data of the stored tensor
  int64_t bytes = 0;
  /// Rows of a head, a multiple of 2. The stored tensor has the first row of the head's second half
  /// behind the first row of its first half, then the second rows, and so on. 0: rows are in order.
  int64_t head = 0;
  bool less_one = false;          ///< float32 numbers, of each of which 1 is subtracted
  std::string_view dropped = {};  ///< why the float model does not have it, a literal

  /// True where the bytes are those of the file.
  bool is_stored() const { return head == 0 && !less_one; }
  /// What the bytes of the file become, for audits; empty: they are these.
  std::string_view change() const {
    return less_one ? "less one" : head > 0 ? "rows reordered" : "";
  }
};

/// Reads a stored tensor as a view shows it. `stored` has the elements of the view in the order of
/// the file, `row` of them in a row.
std::unique_ptr<StoredReader> open_view(const View& view, std::unique_ptr<StoredReader> stored,
                                        int64_t row);

}  // namespace dequant::format::gguf
