// A model file for users of C++, over the interface that all formats have.
#include "dequant/model.h"

#include <algorithm>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "dequant/tensor.h"
#include "format/formats.h"
#include "format/io/errors.h"
#include "format/model/extract.h"
#include "format/model/float_environment.h"
#include "format/model/plan_words.h"
#include "model_library/options.h"
#include "model_library/other_floats.h"

namespace dequant {

using format::DenseTensor;
using format::Extractor;

namespace {

/// Fails where the packed size of the tensor overflows, which no tensor of a file does.
Result<ModelTensor> facts_of(const DenseTensor& t, const format::Words& words) {
  const TensorType type = t.type();
  ModelTensor out;
  out.name = t.name;
  out.node = t.node;
  out.element = type.element;
  out.shape.assign(type.shape.begin(), type.shape.end());
  DEQUANT_TRY(const int64_t count, element_count(type.shape));
  DEQUANT_TRY(out.bytes, packed_bytes(type.element, count));
  out.stored_bytes = t.stored_bytes();
  out.quantized = t.recipe.has_value();
  if (!t.recipe) {
    out.stored = dequant::name(type.element);
    return out;
  }
  out.codes = t.stored.name.empty() ? t.source : t.stored.name;
  out.scheme = t.scheme.empty() ? words.implied_scheme : t.scheme;
  out.stored = format::stored_type(t.recipe->plan);
  return out;
}

}  // namespace

struct Model::Contents {
  std::unique_ptr<Extractor> extractor;
  std::vector<DenseTensor> floats;  ///< those that are stored as floats
  std::vector<ModelTensor> tensors;
  std::vector<LeftModelTensor> left;
  std::unordered_map<std::string_view, std::vector<size_t>> floats_by_name;  ///< in `tensors`
  std::mutex searching;  ///< a search asks the file, which answers one caller at a time

  const DenseTensor& dense(size_t i) const {
    const auto& quantized = extractor->tensors();
    return i < quantized.size() ? quantized[i] : floats[i - quantized.size()];
  }

  Status list();
  /// The tensor as that output type: its recipe changed, or the type to convert to.
  Result<DenseTensor> as(size_t tensor, std::optional<Element> output) const;
};

Status Model::Contents::list() {
  format::ModelFile& file = extractor->file();
  const auto keep = [this](const format::TensorFacts& t, std::string_view reason) {
    left.push_back(
        {std::string(t.name), std::string(t.node), std::string(t.scheme), std::string(reason)});
  };
  for (const format::LeftFacts& t : extractor->left()) keep(t, t.reason);
  DEQUANT_CHECK(file.visit_floats(
      {[this](const DenseTensor& t) { return floats.push_back(t), Status(); },
       [&](const format::LeftTensor& t) { return keep(t, t.reason), Status(); }}));
  const size_t count = extractor->tensors().size() + floats.size();
  tensors.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    DEQUANT_TRY(auto facts, facts_of(dense(i), file.format().words));
    tensors.push_back(std::move(facts));
    if (!tensors.back().quantized) floats_by_name[tensors.back().name].push_back(i);
  }
  return {};
}

Result<DenseTensor> Model::Contents::as(size_t tensor, std::optional<Element> output) const {
  if (tensor >= tensors.size()) {
    return format::failure(ErrorCode::invalid_argument, "tensor: {} where the model has {}", tensor,
                           tensors.size());
  }
  DenseTensor out = dense(tensor);
  if (!output) return out;
  if (!is_output(*output)) {
    return format::failure(ErrorCode::invalid_argument,
                           "output: {}, not float32, float16 or bfloat16", name(*output));
  }
  if (out.recipe) out.recipe->set_output(*output);
  return out;
}

Model::Model(std::unique_ptr<Contents> contents) noexcept : contents_(std::move(contents)) {}
Model::Model(Model&& other) noexcept = default;
Model& Model::operator=(Model&& other) noexcept = default;
Model::~Model() = default;

Result<Model> Model::open(const std::string& path, const OpenModelOptions& options) {
  const format::FloatEnvironment environment;
  DEQUANT_TRY(const auto opened, model_library::open_options(options));
  DEQUANT_TRY(auto file, format::open_model(format::formats(), path, opened));
  auto contents = std::make_unique<Contents>();
  DEQUANT_TRY(contents->extractor, Extractor::open(std::move(file)));
  if (auto status = contents->list(); !status)
    return format::in(format::escaped(path), std::move(status).error());
  return Model(std::move(contents));
}

std::string_view Model::format() const noexcept {
  return contents_->extractor->file().format().name;
}

std::span<const ModelTensor> Model::tensors() const noexcept { return contents_->tensors; }

std::span<const LeftModelTensor> Model::left() const noexcept { return contents_->left; }

Result<size_t> Model::find(const std::string& name) const {
  const auto stored = contents_->floats_by_name.find(name);
  const bool is_stored = stored != contents_->floats_by_name.end() && !name.empty();
  const std::lock_guard lock(contents_->searching);
  auto found = contents_->extractor->index_of(name);
  if (found || !is_stored) return found;
  if (stored->second.size() == 1) return stored->second[0];
  return format::failure(ErrorCode::invalid_argument, "{}: {} tensors have that name",
                         format::escaped(name), stored->second.size());
}

Result<int64_t> Model::bytes(size_t tensor, std::optional<Element> output) const {
  DEQUANT_TRY(const DenseTensor t, contents_->as(tensor, output));
  DEQUANT_TRY(const int64_t count, element_count(t.shape));
  return packed_bytes(output.value_or(t.type().element), count);
}

Status Model::read(size_t tensor, std::span<std::byte> y, const ReadModelOptions& options) const {
  const format::FloatEnvironment environment;
  DEQUANT_TRY(const int64_t bytes, this->bytes(tensor, options.output));
  if (std::cmp_not_equal(bytes, y.size())) {
    return format::failure(ErrorCode::invalid_argument, "y: {} bytes where {} takes {}", y.size(),
                           format::escaped(tensors()[tensor].name), bytes);
  }
  DEQUANT_TRY(const DenseTensor t, contents_->as(tensor, options.output));
  if (t.recipe) return contents_->extractor->read(t, model_library::stream_options(options), y);
  const ModelBand copy = [&](int64_t offset, std::span<const std::byte> band) -> Status {
    std::copy(band.begin(), band.end(), y.begin() + offset);
    return {};
  };
  return read(tensor, copy, options);
}

Status Model::read(size_t tensor, const ModelBand& band, const ReadModelOptions& options) const {
  const format::FloatEnvironment environment;
  DEQUANT_TRY(const DenseTensor t, contents_->as(tensor, options.output));
  int64_t offset = 0;
  const format::Sink sink = [&](std::span<const std::byte> bytes) -> Status {
    const format::FloatEnvironment kept;  // the function may leave another one behind
    DEQUANT_CHECK(band(offset, bytes));
    offset += static_cast<int64_t>(bytes.size());
    return {};
  };
  format::ModelFile& file = contents_->extractor->file();
  const Element own = t.type().element;
  const format::StreamOptions stream = model_library::stream_options(options);
  if (t.recipe || options.output.value_or(own) == own) return format::stream(file, t, stream, sink);
  return format::stream(file, t, stream, model_library::other_floats(own, *options.output, sink));
}

}  // namespace dequant
