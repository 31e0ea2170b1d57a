// Finding the tensors of a model file by name, and reading them.
#include "format/model/extract.h"

#include <algorithm>
#include <set>
#include <utility>

#include "format/io/errors.h"

namespace dequant::format {
namespace {

/// The codes of a tensor as a tensor of their own, with their name.
DenseTensor codes_of(DenseTensor tensor) {
  tensor.name = tensor.stored.name.empty() ? tensor.source : tensor.stored.name;
  tensor.shape = tensor.stored.type.shape;
  tensor.recipe.reset();
  return tensor;
}

}  // namespace

Result<std::unique_ptr<Extractor>> Extractor::open(std::unique_ptr<ModelFile> file) {
  std::unique_ptr<Extractor> extractor(new Extractor(std::move(file)));
  if (auto status = extractor->collect(); !status)
    return in(escaped(extractor->file_->path()), std::move(status).error());
  return extractor;
}

Status Extractor::collect() {
  return file_->visit({[this](const DenseTensor& tensor) { return add(tensor), Status(); },
                       [this](const LeftTensor& tensor) { return add(tensor), Status(); }});
}

void Extractor::add(const DenseTensor& tensor) {
  const size_t index = tensors_.size();
  by_name_[tensor.name].push_back(index);
  by_node_[tensor.node].push_back(index);
  by_source_[tensor.source].push_back(index);
  const std::string_view own = tensor.stored.name;
  if (!own.empty() && own != tensor.source) by_source_[own].push_back(index);
  tensors_.push_back(tensor);
}

/// Where several tensors have the name, the message has the reason of the first.
void Extractor::add(const LeftTensor& tensor) {
  for (const std::string_view name : {tensor.node, tensor.name, tensor.source})
    left_by_name_.try_emplace(name, left_.size());
  left_.push_back({tensor, tensor.reason, tensor.unread});
}

std::vector<size_t> Extractor::named(const std::string& name) const {
  for (const Index* index : {&by_name_, &by_node_, &by_source_}) {
    const auto found = index->find(name);
    if (found != index->end() && !name.empty()) return found->second;
  }
  return {};
}

Error Extractor::several(const std::string& name, const std::vector<size_t>& found) const {
  std::string names;
  for (const size_t i : found) names += (names.empty() ? "" : ", ") + escaped(tensors_[i].name);
  return failure(ErrorCode::invalid_argument, "{}: {} {}", escaped(name),
                 file_->format().words.several_of_name, names);
}

Error Extractor::missing(const std::string& name) const {
  const Words& words = file_->format().words;
  const auto left = left_by_name_.find(name);
  if (left != left_by_name_.end() && !name.empty()) {
    return failure(ErrorCode::invalid_argument, "{}: {}: {}", escaped(name), words.stays_quantized,
                   left_[left->second].reason);
  }
  return failure(ErrorCode::invalid_argument, "{}: {} {}", escaped(name), escaped(file_->path()),
                 words.none_of_name);
}

Result<size_t> Extractor::index_of(const std::string& name) const {
  const std::vector<size_t> found = named(name);
  if (found.size() > 1) return several(name, found);
  if (found.size() == 1) return found[0];
  const auto stored = file_->stored(name);
  if (!stored && stored.error().code != ErrorCode::unsupported) return stored.error();
  if (stored && !*stored) return missing(name);
  return failure(ErrorCode::invalid_argument, "{}: {}", escaped(name),
                 file_->format().words.not_dequantized);
}

Result<DenseTensor> Extractor::find(const std::string& name, bool raw) const {
  const std::vector<size_t> found = named(name);
  const auto codes = [&](size_t i) { return tensors_[i].stored.identity; };
  const bool same = raw && std::all_of(found.begin(), found.end(),
                                       [&](size_t i) { return codes(i) == codes(found[0]); });
  if (found.size() > 1 && !same) return several(name, found);
  if (!found.empty()) return raw ? codes_of(tensors_[found[0]]) : tensors_[found[0]];
  DEQUANT_TRY(auto stored, file_->stored(name));
  if (!stored) return missing(name);
  return *std::move(stored);
}

Result<std::vector<DenseTensor>> Extractor::all(bool raw) const {
  if (tensors_.empty()) {
    return failure(ErrorCode::unsupported, "{}: {}; {}", escaped(file_->path()),
                   file_->format().words.nothing_to_extract, file_->instead());
  }
  if (!raw) return tensors_;
  std::vector<DenseTensor> out;
  // Stored tensors of several names may have the same bytes, in types and shapes of their own.
  std::set<std::pair<const void*, std::string_view>> seen;
  for (const DenseTensor& tensor : tensors_) {
    if (!seen.emplace(tensor.stored.identity, tensor.stored.name).second) continue;
    out.push_back(codes_of(tensor));
  }
  return out;
}

}  // namespace dequant::format
