// A model file with some of its bytes replaced. Whatever is not replaced is copied as it stands;
// the lengths of the messages around a change are written anew.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "format/onnx/model.h"

namespace dequant::format::onnx {

/// The dequantized bytes of the i-th folded node, computed while they are written.
struct Computed {
  size_t index;
  int64_t bytes;
};

/// A piece of output: bytes of the input file, new bytes, or computed ones.
using Piece = std::variant<Span, std::string, Computed>;
using Pieces = std::vector<Piece>;

int64_t size_of(const Piece& piece);
int64_t size_of(const Pieces& pieces);

/// The same output in fewer pieces: texts that follow one another are one.
Pieces joined(Pieces pieces);

class Edit {
 public:
  explicit Edit(const Model& model) : model_(&model) {}

  /// Puts `with` in the place of `what`, which lies in the message of frame `frame` (-1: the model)
  /// and in none of that message's frames. Replacing the same bytes again takes the later pieces.
  void replace(int frame, Span what, Pieces with);

  void remove(int frame, Span what) { replace(frame, what, {}); }

  /// Adds at the end of a message.
  void append(int frame, Pieces what);

  /// True if nothing changes.
  bool empty() const { return changes_.empty(); }

  /// The whole output in order.
  Pieces render() const;

 private:
  /// What changes in one message: bytes by their place, and what is added at its end.
  struct Changes {
    std::map<std::pair<int64_t, int64_t>, Pieces> replaced;
    Pieces appended;
  };
  /// Frames in which something changes, by the frame directly around them.
  using Children = std::map<int, std::vector<int>>;

  void render(const Children& children, int frame, Pieces& out) const;

  const Model* model_;
  std::map<int, Changes> changes_;  ///< by frame
};

}  // namespace dequant::format::onnx
