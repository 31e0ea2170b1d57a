// Removing imports of operator sets that a model does not use after a conversion.
#include "format/onnx/opset_imports.h"

#include <map>

namespace dequant::format::onnx {
namespace {

/// Domains of the nodes of the model or a function, inner graphs included.
struct Domains {
  std::set<std::string, std::less<>> gone;  ///< of removed nodes
  std::set<std::string, std::less<>> used;
};

/// The domain of an OperatorSetIdProto.
Result<std::string> domain_of(Source& source, Span message) {
  Cursor cursor(source, message);
  Field f;
  std::string domain;
  for (;;) {
    DEQUANT_TRY(const bool more, cursor.next(f));
    if (!more) return domain;
    if (f.number != field::opset::domain || f.wire != Wire::bytes) continue;
    DEQUANT_TRY(domain, source.text(f.payload));
  }
}

Status drop(Model& model, Edit& edit, int frame, uint32_t number, const Domains& domains) {
  const Span message = frame < 0 ? model.source.all() : model.frame(frame).payload();
  Cursor cursor(model.source, message);
  Field f;
  for (;;) {
    DEQUANT_TRY(const bool more, cursor.next(f));
    if (!more) return {};
    if (f.number != number || f.wire != Wire::bytes) continue;
    DEQUANT_TRY(const std::string domain, domain_of(model.source, f.payload));
    const bool unused = domains.gone.contains(domain) && !domains.used.contains(domain);
    if (unused) edit.remove(frame, f.whole);
  }
}

}  // namespace

Status drop_imports(Model& model, Rewire& rewire) {
  if (model.has_training) return {};  // the nodes of its graphs are not read
  std::map<const Graph*, Domains> bodies;
  for (const Graph* g : rewire.scopes().graphs()) {
    const Graph* body = g;
    while (body->outer != nullptr) body = body->outer;
    Domains& domains = bodies[body];
    for (const Node& n : g->nodes) {
      if (n.domain().empty() || n.domain() == "ai.onnx") continue;
      const bool gone = rewire.removed(n) || rewire.replaced(n);
      (gone ? domains.gone : domains.used).insert(n.domain().str());
    }
  }
  Domains& main = bodies[&model.graph];
  for (auto& [body, domains] : bodies) {
    if (!body->is_function) continue;
    // The imports of a function must agree with those of the model.
    main.gone.insert(domains.gone.begin(), domains.gone.end());
    main.used.insert(domains.used.begin(), domains.used.end());
    if (domains.gone.empty()) continue;
    DEQUANT_CHECK(drop(model, rewire.edit(), body->frame, field::function::opset_import, domains));
  }
  if (main.gone.empty()) return {};
  return drop(model, rewire.edit(), -1, field::model::opset_import, main);
}

}  // namespace dequant::format::onnx
