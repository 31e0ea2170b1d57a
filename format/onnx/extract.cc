// Finding one tensor of a model, and streaming it out or reading it into memory.
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
      if (decision.dequantization) {
        dequantizations_.push_back(*std::move(decision.dequantization));
      } else {
        others_.push_back({&node, std::move(decision.reason)});
      }
    }
  }
  return {};
}

std::vector<size_t> Extractor::named(const std::string& name) const {
  std::vector<size_t> found;
  const auto search = [&](auto names) {
    if (!found.empty() || name.empty()) return;
    for (size_t i = 0; i < dequantizations_.size(); ++i) {
      if (names(dequantizations_[i])) found.push_back(i);
    }
  };
  search([&](const Dequantization& d) { return d.node->outputs[0].text == name; });
  search([&](const Dequantization& d) { return !d.node->name.empty() && d.node->name == name; });
  search([&](const Dequantization& d) {
    return d.x.tensor->name == name || d.node->inputs[0].text == name;
  });
  return found;
}

Error Extractor::several(const std::string& name, const std::vector<size_t>& found) const {
  std::string outputs;
  for (const size_t i : found)
    outputs += (outputs.empty() ? "" : ", ") + escaped(dequantizations_[i].node->outputs[0].text);
  return failure(ErrorCode::invalid_argument, "{}: several tensors have that name: the outputs {}",
                 escaped(name), outputs);
}

Error Extractor::missing(const std::string& name) const {
  for (const Other& o : others_) {
    const auto is = [&](const std::string& text) { return !text.empty() && text == name; };
    if (is(o.node->name) || (!o.node->outputs.empty() && is(o.node->outputs[0].text)) ||
        (!o.node->inputs.empty() && is(o.node->inputs[0].text))) {
      return failure(ErrorCode::invalid_argument,
                     "{}: its DequantizeLinear is not of constants: {}", escaped(name), o.reason);
    }
  }
  return failure(ErrorCode::invalid_argument,
                 "{}: {} has no constant and no DequantizeLinear of constants of that name",
                 escaped(name), escaped(model_->path));
}

Result<size_t> Extractor::index_of(const std::string& name) const {
  const std::vector<size_t> found = named(name);
  if (found.size() > 1) return several(name, found);
  if (!found.empty()) return found[0];
  if (resolve_constant(*scopes_, model_->graph, name, true).constant) {
    return failure(ErrorCode::invalid_argument,
                   "{}: a constant that no DequantizeLinear takes as x", escaped(name));
  }
  return missing(name);
}

Result<Extraction> Extractor::find(const std::string& name, bool raw) {
  const std::vector<size_t> found = named(name);
  const auto stored = [&](size_t i) { return dequantizations_[i].x.tensor; };
  const bool same = raw && std::all_of(found.begin(), found.end(),
                                       [&](size_t i) { return stored(i) == stored(found[0]); });
  if (found.size() > 1 && !same) return several(name, found);
  Extraction what;
  if (!found.empty()) {
    const Dequantization& d = dequantizations_[found[0]];
    what = {d.node->outputs[0].text, d, d.x.tensor};
  } else {  // a constant that nobody dequantizes, or already a float
    const Resolved r = resolve_constant(*scopes_, model_->graph, name, true);
    if (!r.constant || r.constant->tensor == nullptr) return missing(name);
    what = {name, {}, r.constant->tensor};
  }
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

Status Extractor::read(const Dequantization& d, const StreamOptions& options,
                       std::span<std::byte> y) {
  return fill(*model_, files_, d, options, y);
}

Status Extractor::read(const Constant& constant, std::span<std::byte> bytes) {
  if (constant.literal) {
    std::copy_n(constant.literal->bytes.begin(), bytes.size(), bytes.begin());
    return {};
  }
  DEQUANT_TRY(TensorReader reader, TensorReader::open(model_->source, files_, *constant.tensor));
  DEQUANT_CHECK(reader.read(bytes));
  return reader.finish();
}

}  // namespace dequant::format::onnx
