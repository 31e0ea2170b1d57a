// Finding one tensor of a model, and streaming it out.
#include "format/onnx/extract.h"

#include <algorithm>
#include <unordered_set>

#include "format/io/errors.h"
#include "format/onnx/tensor_reader.h"

namespace dequant::format::onnx {

TensorType Extraction::type() const {
  if (dequantization) return {dequantization->plan.output, dequantization->x.tensor->dims};
  return {stored->element().value_or(Element::float32), stored->dims};
}

Result<std::unique_ptr<Extractor>> Extractor::open(const std::string& path) {
  DEQUANT_TRY(auto model, read_model(path));
  std::unique_ptr<Extractor> extractor(new Extractor(std::move(model)));
  if (auto status = extractor->collect(); !status)
    return in(escaped(path), std::move(status).error());
  return extractor;
}

Status Extractor::collect() {
  DEQUANT_TRY(scopes_, Scopes::build(*model_));
  for (Graph* graph : scopes_->graphs()) {
    for (Node& node : graph->nodes) {
      if (!node.is_dequantize()) continue;
      // What stands in the file is wanted, not what a caller could put in its place.
      DEQUANT_TRY(Decision decision, consider(*model_, files_, *scopes_, *graph, node, true));
      if (decision.dequantization) dequantizations_.push_back(*std::move(decision.dequantization));
    }
  }
  return {};
}

Result<Extraction> Extractor::find(const std::string& name, bool raw) {
  std::vector<Extraction> found;
  const auto search = [&](auto names) {
    if (!found.empty()) return;
    for (const Dequantization& d : dequantizations_) {
      if (names(d)) found.push_back({d.node->outputs[0].text, d, d.x.tensor});
    }
  };
  search([&](const Dequantization& d) { return d.node->outputs[0].text == name; });
  search([&](const Dequantization& d) { return !d.node->name.empty() && d.node->name == name; });
  search([&](const Dequantization& d) {
    return d.x.tensor->name == name || d.node->inputs[0].text == name;
  });
  if (raw && found.size() > 1) {
    const bool same = std::all_of(found.begin(), found.end(),
                                  [&](const Extraction& e) { return e.stored == found[0].stored; });
    if (same) found.resize(1);
  }
  if (found.empty()) {  // a constant that nobody dequantizes, or already a float
    const Resolved r = resolve_constant(*scopes_, model_->graph, name, true);
    if (r.constant && r.constant->tensor != nullptr) {
      found.push_back({name, {}, r.constant->tensor});
    }
  }
  if (found.size() > 1) {
    std::string outputs;
    for (const Extraction& e : found) outputs += (outputs.empty() ? "" : ", ") + escaped(e.name);
    return failure(ErrorCode::invalid_argument,
                   "{}: several tensors have that name: the outputs {}", escaped(name), outputs);
  }
  if (found.empty()) {
    return failure(ErrorCode::invalid_argument,
                   "{}: {} has no constant and no DequantizeLinear of constants of that name",
                   escaped(name), escaped(model_->path));
  }
  Extraction what = std::move(found[0]);
  if (raw) what.dequantization.reset();
  if (!what.dequantization && !what.stored->element()) {
    return failure(ErrorCode::unsupported, "{}: data type {} is not one dequant reads",
                   escaped(name), what.stored->data_type);
  }
  return what;
}

Result<std::vector<Extraction>> Extractor::all(bool raw) {
  std::vector<Extraction> out;
  std::unordered_set<const Tensor*> seen;
  for (const Dequantization& d : dequantizations_) {
    if (!raw) {
      out.push_back({d.node->outputs[0].text, d, nullptr});
    } else if (seen.insert(d.x.tensor).second) {
      const std::string& own = d.x.tensor->name;
      out.push_back({own.empty() ? d.node->inputs[0].text : own, {}, d.x.tensor});
    }
  }
  return out;
}

Status Extractor::write(const Extraction& what, const StreamOptions& options, const Sink& sink) {
  if (what.dequantization) return stream(*model_, files_, *what.dequantization, options, sink);
  DEQUANT_TRY(TensorReader reader, TensorReader::open(model_->source, files_, *what.stored));
  constexpr int64_t kStep = int64_t{4} << 20;
  std::vector<std::byte> buffer;
  for (int64_t done = 0; done < reader.bytes();) {
    buffer.resize(static_cast<size_t>(std::min(kStep, reader.bytes() - done)));
    DEQUANT_CHECK(reader.read(buffer));
    DEQUANT_CHECK(sink(buffer));
    done += static_cast<int64_t>(buffer.size());
  }
  return reader.finish();
}

}  // namespace dequant::format::onnx
