// Finding float weights that ONNX Runtime would quantize again.
#include "format/onnx/requantized.h"

#include "format/io/errors.h"

namespace dequant::format::onnx {
namespace {

class Finder {
 public:
  Finder(const Rewire& rewire, Constants& constants) : rewire_(rewire), constants_(constants) {}

  Result<std::string> run() {
    for (const Graph* g : rewire_.scopes().graphs()) {
      for (const Node& n : g->nodes) {
        if (!is_left(n) || !is_between_pairs(*g, n)) continue;
        DEQUANT_TRY(const bool weight, is_float_constant(*g, n.input(1), 0));
        DEQUANT_TRY(const bool bias, is_float_constant(*g, n.input(2), 1));
        if (!n.input(2).empty() && !bias && n.is("Gemm")) continue;  // a matrix is no bias here
        if (weight) count(n.input(1));
        if (bias) count(n.input(2));
      }
    }
    if (count_ == 0) return std::string();
    return fmt::format(
        "ONNX Runtime quantizes {} float {} between activation pairs again, {} first; "
        "strip-qdq takes the pairs off, or disable its optimizer WeightBiasQuantization",
        count_, count_ == 1 ? "constant" : "constants", escaped(first_));
  }

 private:
  bool is_left(const Node& n) const { return !rewire_.removed(n) && !rewire_.replaced(n); }

  bool is_between_pairs(const Graph& graph, const Node& n) const {
    const bool known = n.is("Conv") || n.is("ConvTranspose") || n.is("Gemm");
    if (!known || n.inputs.size() < 2 || n.outputs.size() != 1) return false;
    const Definition* x = rewire_.scopes().find(graph, n.input(0));
    if (x == nullptr || x->node == nullptr || !x->node->is_dequantize() || !is_left(*x->node))
      return false;
    const Node* reader = only_reader(graph, n);
    while (reader != nullptr && (reader->is("Relu") || reader->is("Clip")))  // are fused
      reader = only_reader(graph, *reader);
    return reader != nullptr && reader->is_quantize();
  }

  /// The only node that reads the output of another node; outputs of the graph do not count.
  const Node* only_reader(const Graph& graph, const Node& n) const {
    const Node* reader = nullptr;
    for (const Use& use : rewire_.uses_of(graph, n.outputs[0].text)) {
      if (use.node == nullptr) continue;
      if (reader != nullptr || use.graph != &graph) return nullptr;
      reader = use.node;
    }
    return reader != nullptr && is_left(*reader) && reader->outputs.size() == 1 ? reader : nullptr;
  }

  /// True for a float32 constant that the converted model stores as floats; `rank` 0 means any
  /// rank.
  Result<bool> is_float_constant(const Graph& graph, std::string_view name, size_t rank) {
    if (name.empty()) return false;
    DEQUANT_TRY(const Resolved r, constants_.resolve(graph, name));
    if (!r.constant) return false;
    if (r.constant->computed && is_left(*r.constant->computed->inputs.node)) return false;
    if (r.constant->evaluated || !r.constant->readable()) return false;
    const TensorType type = r.constant->type();
    return type.element == Element::float32 && (rank == 0 || type.shape.size() == rank);
  }

  void count(std::string_view name) {
    if (count_++ == 0) first_ = name;
  }

  const Rewire& rewire_;
  Constants& constants_;
  int64_t count_ = 0;
  std::string first_;
};

}  // namespace

Result<std::string> warning_of_requantized(const Rewire& rewire, Constants& constants) {
  return Finder(rewire, constants).run();
}

}  // namespace dequant::format::onnx
