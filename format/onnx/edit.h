// Replacing byte ranges of a model file. All other bytes are copied unchanged, but for the lengths
// of the messages around a change.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "format/onnx/model.h"

namespace dequant::format::onnx {

/// The bytes of the result of the i-th Fold, which are computed while the output is written.
struct Computed {
  size_t index;
  int64_t bytes;
};

/// The bytes of the i-th of Survivors, which are copied from a file beside the model.
struct Beside {
  size_t index;
  int64_t bytes;
};

/// Consecutive bytes of the output: a range of the input file, new bytes, computed bytes, or bytes
/// of another file.
using Piece = std::variant<Span, std::string, Computed, Beside>;
/// Pieces in the order of the output.
using Pieces = std::vector<Piece>;

/// Bytes of the output.
int64_t size_of(const Piece& piece);
int64_t size_of(const Pieces& pieces);

/// The same output, in which consecutive strings are one piece.
Pieces joined(Pieces pieces);

/// A set of changes of a model file, which must outlive this object.
class Edit {
 public:
  explicit Edit(const Model& model) : model_(&model) {}

  /// Replaces the bytes `what` by `with`. `what` is in the message of frame `frame` (-1: the
  /// model), and not within a frame of that message. A second replacement of the same bytes
  /// replaces the first.
  void replace(int frame, Span what, Pieces with);

  /// Removes the bytes `what`.
  void remove(int frame, Span what) { replace(frame, what, {}); }

  /// Appends bytes to the message of a frame.
  void append(int frame, Pieces what);

  /// True if there are no changes.
  bool empty() const { return changes_.empty(); }

  /// The whole output.
  Pieces render() const;

 private:
  /// The changes of one message: replacements by their byte range, and bytes behind its end.
  struct Changes {
    std::map<std::pair<int64_t, int64_t>, Pieces> replaced;
    Pieces appended;
  };
  /// Frames with changes, by their parent frame.
  using Children = std::map<int, std::vector<int>>;

  void render(const Children& children, int frame, Pieces& out) const;

  const Model* model_;
  std::map<int, Changes> changes_;  ///< by frame
};

}  // namespace dequant::format::onnx
