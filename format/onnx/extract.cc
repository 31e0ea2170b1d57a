// Finding one tensor of a model, and streaming it out or reading it into memory.
#include "format/onnx/extract.h"

#include <algorithm>
#include <unordered_set>

#include "format/io/errors.h"
#include "format/onnx/constant_reader.h"
#include "format/onnx/constants.h"
#include "format/onnx/inputs.h"
#include "format/onnx/quantized.h"

namespace dequant::format::onnx {

TensorType Extraction::type() const {
  if (dequantization) return {dequantization->plan.output, dequantization->x.type().shape};
  return stored->type();
}

Result<std::unique_ptr<Extractor>> Extractor::open(const std::string& path, StructureLimit limit,
                                                   Checksums checksums) {
  DEQUANT_TRY(auto model, read_model(path, limit));
  std::unique_ptr<Extractor> extractor(new Extractor(std::move(model), checksums));
  if (auto status = extractor->collect(); !status)
    return in(escaped(path), std::move(status).error());
  return extractor;
}

Status Extractor::collect() {
  DEQUANT_TRY(scopes_, Scopes::build(*model_));
  // What stands in the file is wanted, not what a caller could put in its place.
  Constants constants(*model_, files_, *scopes_, true);
  for (Graph* graph : scopes_->graphs()) {
    for (Node& node : graph->nodes) {
      if (!node.is_dequantize()) continue;
      DEQUANT_TRY(Decision decision, constants.consider(*graph, node));
      if (decision.dequantization) {
        add(*std::move(decision.dequantization));
      } else {
        add_other(node, decision.reason);
      }
    }
  }
  return {};
}

void Extractor::add(Dequantization d) {
  const size_t index = dequantizations_.size();
  const Text x = d.node->input(0);
  by_output_[d.node->outputs[0].text].push_back(index);
  by_node_[d.node->name].push_back(index);
  by_x_[x].push_back(index);
  if (d.x.tensor != nullptr && d.x.name() != x) by_x_[d.x.name()].push_back(index);
  dequantizations_.push_back(std::move(d));
}

/// Of several of one name the first is told.
void Extractor::add_other(const Node& node, const std::string& reason) {
  reasons_.try_emplace(node.name, reason);
  if (!node.outputs.empty()) reasons_.try_emplace(node.outputs[0].text, reason);
  if (!node.inputs.empty()) reasons_.try_emplace(node.inputs[0].text, reason);
}

std::vector<size_t> Extractor::named(const std::string& name) const {
  for (const Index* index : {&by_output_, &by_node_, &by_x_}) {
    const auto found = index->find(name);
    if (found != index->end() && !name.empty()) return found->second;
  }
  return {};
}

Error Extractor::several(const std::string& name, const std::vector<size_t>& found) const {
  std::string outputs;
  for (const size_t i : found)
    outputs += (outputs.empty() ? "" : ", ") + escaped(dequantizations_[i].node->outputs[0].text);
  return failure(ErrorCode::invalid_argument, "{}: several tensors have that name: the outputs {}",
                 escaped(name), outputs);
}

Error Extractor::missing(const std::string& name) const {
  const auto reason = reasons_.find(name);
  if (reason != reasons_.end() && !name.empty()) {
    return failure(ErrorCode::invalid_argument, "{}: its DequantizeLinear is not of constants: {}",
                   escaped(name), reason->second);
  }
  return failure(ErrorCode::invalid_argument,
                 "{}: {} has no constant and no DequantizeLinear of constants of that name",
                 escaped(name), escaped(model_->path));
}

Result<size_t> Extractor::index_of(const std::string& name) const {
  const std::vector<size_t> found = named(name);
  if (found.size() > 1) return several(name, found);
  if (!found.empty()) return found[0];
  DEQUANT_TRY(const auto constant, other_constant(name));
  if (!constant) return missing(name);
  return failure(ErrorCode::invalid_argument, "{}: a constant that no DequantizeLinear takes as x",
                 escaped(name));
}

Result<std::optional<Constant>> Extractor::other_constant(const std::string& name) const {
  Resolved main = resolve_constant(*scopes_, model_->graph, name, true);
  if (main.constant) return std::move(main.constant);
  std::optional<Constant> found;
  for (const Graph* graph : scopes_->graphs()) {
    Resolved r = resolve_constant(*scopes_, *graph, name, true);
    if (!r.constant) continue;
    if (found && found->identity() != r.constant->identity()) {
      return failure(ErrorCode::invalid_argument, "{}: constants of several graphs have that name",
                     escaped(name));
    }
    found = std::move(r.constant);
  }
  return found;
}

Result<Extraction> Extractor::find(const std::string& name, bool raw) {
  const std::vector<size_t> found = named(name);
  const auto stored = [&](size_t i) { return dequantizations_[i].x.identity(); };
  const bool same = raw && std::all_of(found.begin(), found.end(),
                                       [&](size_t i) { return stored(i) == stored(found[0]); });
  if (found.size() > 1 && !same) return several(name, found);
  Extraction what;
  if (!found.empty()) {
    const Dequantization& d = dequantizations_[found[0]];
    what = {d.node->output(0).str(), d, d.x};
  } else {  // a constant that nobody dequantizes, or already a float
    DEQUANT_TRY(const auto constant, other_constant(name));
    if (!constant || constant->tensor == nullptr) return missing(name);
    what = {name, {}, *constant};
  }
  if (raw) what.dequantization.reset();
  const Tensor* tensor = what.stored->tensor;
  if (!what.dequantization && tensor != nullptr && !tensor->element()) {
    return failure(ErrorCode::unsupported, "{}: data type {} is not one dequant reads",
                   escaped(name), tensor->data_type);
  }
  return what;
}

Error Extractor::none() const {
  const QuantizedOperators quantized(*model_);
  OperatorCounts counts;
  for (const Graph* graph : scopes_->graphs()) {
    for (const Node& node : graph->nodes) {
      if (!quantized.reason(node).empty()) ++counts[node.op_type().str()];
    }
  }
  return failure(ErrorCode::unsupported,
                 "{}: no DequantizeLinear of constants, so there is nothing to extract; {}",
                 escaped(model_->path),
                 counts.empty() ? "the model has no quantized operator"
                                : "its quantized operators are " + counts_text(counts));
}

Result<std::vector<Extraction>> Extractor::all(bool raw) {
  if (dequantizations_.empty()) return none();
  std::vector<Extraction> out;
  std::unordered_set<const void*> seen;
  for (const Dequantization& d : dequantizations_) {
    if (!raw) {
      out.push_back({d.node->output(0).str(), d, {}});
    } else if (seen.insert(d.x.identity()).second) {
      const std::string_view own = d.x.name();
      out.push_back({own.empty() ? d.node->input(0).str() : std::string(own), {}, d.x});
    }
  }
  return out;
}

Status Extractor::check_output(const std::string& output) const {
  return onnx::check_output(*model_, *scopes_, output);
}

Status Extractor::write(const Extraction& what, const StreamOptions& options, const Sink& sink) {
  if (what.dequantization) return stream(*model_, files_, *what.dequantization, options, sink);
  DEQUANT_TRY(ConstantReader reader,
              ConstantReader::open(*model_, files_, *what.stored, options.memory));
  constexpr int64_t kStep = int64_t{1} << 20;
  while (reader.left() > 0) {
    DEQUANT_TRY(const auto part, reader.next(std::min(kStep, reader.left())));
    DEQUANT_CHECK(sink(part));
  }
  return reader.finish();
}

Status Extractor::read(const Dequantization& d, const StreamOptions& options,
                       std::span<std::byte> y) {
  return fill(*model_, files_, d, options, y);
}

Status Extractor::read(const Constant& constant, std::span<std::byte> bytes) {
  DEQUANT_TRY(ConstantReader reader,
              ConstantReader::open(*model_, files_, constant, StreamOptions().memory));
  DEQUANT_CHECK(reader.read(reader.left(), bytes));
  return reader.finish();
}

}  // namespace dequant::format::onnx
