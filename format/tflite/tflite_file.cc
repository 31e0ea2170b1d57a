// TFLite models as model files.
#include "format/tflite/tflite_file.h"

#include <array>
#include <nlohmann/json.hpp>

#include "dequant/codes.h"
#include "format/io/errors.h"
#include "format/profile/code_ends.h"
#include "format/tflite/format.h"
#include "format/tflite/write.h"

namespace dequant::format::tflite {
namespace {

/// Identifies numbers of the file: an address of nothing. Those of 32 and of 64 bits may begin at
/// one offset, and a plan is the same for both.
const void* identity_of(const Stored& stored) {
  const auto offset = static_cast<uintptr_t>(stored.data.offset);
  return reinterpret_cast<const void*>(2 * offset + (stored.int64 ? 1 : 0));
}

StoredTensor stored_tensor(const Stored& stored) {
  std::optional<Location> location;
  if (!stored.int64) location = Location{{}, stored.data.offset, stored.data.size};
  return {stored.name,         {stored.element, stored.shape},
          stored.data.size,    location,
          identity_of(stored), &stored};
}

/// As safetensors files spell it, where they have the type.
std::string_view name_of(const Type& type) { return type.dtype.empty() ? type.name : type.dtype; }

/// Of activations with one scale; TFLite's operators take no others.
Result<std::optional<Parameters>> parameters_of(const Tensor& tensor) {
  const Quantization& q = tensor.quantization;
  Parameters p;
  p.type = find_type(tensor.type)->element;
  if (q.scale.size() != 1 || q.zero_point.size() > 1 || !p.type || bits(*p.type) > 16)
    return std::optional<Parameters>();
  const float scale = q.scale[0];
  const int64_t zero = q.zero_point.empty() ? 0 : q.zero_point[0];
  std::array<std::byte, sizeof(uint32_t)> code{};
  store_code(bits(*p.type), code.data(), 0, static_cast<uint32_t>(zero));
  const double stored = value_of(*p.type, load_code(*p.type, code, 0));
  if (stored != static_cast<double>(zero)) return std::optional<Parameters>();  // it has no code
  p.scale_count = 1;
  p.scale.add(scale);
  if (!q.zero_point.empty()) p.zero_point.add(stored);
  CodeEnds ends(*p.type, Element::float32, true, Element::float32, 1);
  DEQUANT_CHECK(ends.visit(std::as_bytes(std::span(&scale, 1)), code, 1, [&](const Ends& e) {
    p.covered.add(e.first);
    p.covered.add(e.second);
  }));
  return std::optional(p);
}

}  // namespace

TfliteFile::TfliteFile(std::string path, InputFile file, dense::Options own)
    : ModelFile(kFormat, std::move(path)), file_(std::move(file)), own_(std::move(own)) {}

Result<std::unique_ptr<ModelFile>> TfliteFile::open(const std::string& path,
                                                    const OpenOptions& options) {
  DEQUANT_TRY(dense::Options own, dense::read_options(options.own));
  DEQUANT_TRY(InputFile input, open_input(path, options));
  std::unique_ptr<TfliteFile> file(new TfliteFile(path, std::move(input), std::move(own)));
  auto model = read_model(file->file_, options.memory);
  if (!model) return in(escaped(path), std::move(model).error());
  file->model_ = *std::move(model);
  auto constants = constants_of(file->file_, file->model_);
  if (!constants) return in(escaped(path), std::move(constants).error());
  file->constants_ = *std::move(constants);
  return std::unique_ptr<ModelFile>(std::move(file));
}

size_t TfliteFile::tensors() const {
  size_t sum = 0;
  for (const Subgraph& graph : model_.subgraphs) sum += graph.tensors.size();
  return sum;
}

nlohmann::ordered_json TfliteFile::facts() const {
  nlohmann::ordered_json j = nlohmann::ordered_json::object();
  j["version"] = kVersion;
  j["description"] = escaped(model_.description);
  j["subgraphs"] = nlohmann::ordered_json::array();
  for (const Subgraph& graph : model_.subgraphs) {
    j["subgraphs"].push_back({{"name", escaped(graph.name)},
                              {"operators", graph.operators},
                              {"tensors", graph.tensors.size()}});
  }
  j["buffers"] = model_.buffers.size();
  j["constants"] = constants_.all.size();
  j["metadata"] = nlohmann::ordered_json::array();
  for (const std::string_view name : model_.metadata) j["metadata"].push_back(escaped(name));
  j["warnings"] = constants_.warnings.sentences();
  return j;
}

Headline TfliteFile::headline() const {
  const size_t graphs = model_.subgraphs.size();
  return {"TFLite", model_.description.empty() ? "not named" : escaped(model_.description),
          fmt::format("{} constants of {} tensors, {} subgraph{}", constants_.all.size(), tensors(),
                      graphs, graphs == 1 ? "" : "s")};
}

std::vector<Headline> TfliteFile::details() const {
  std::vector<Headline> lines;
  for (const std::string_view name : model_.metadata)
    lines.push_back({"metadata", escaped(name), ""});
  for (std::string& warning : constants_.warnings.sentences())
    lines.push_back({"warning", std::move(warning), ""});
  return lines;
}

DenseTensor TfliteFile::dense_tensor(const Constant& constant) const {
  const Computed& computed = *constant.computed;
  DenseTensor tensor;
  tensor.name = tensor.source = constant.name;
  tensor.scheme = computed.scheme;
  tensor.shape = constant.shape;
  tensor.stored = stored_tensor(computed.codes);
  tensor.shared = constant.shared;
  Recipe& recipe = tensor.recipe.emplace();
  recipe.plan = computed.plan;
  recipe.axis = computed.axis;
  recipe.scale = stored_tensor(computed.scale);
  if (computed.zero_point) recipe.zero_point = stored_tensor(*computed.zero_point);
  return tensor;
}

/// A tensor without a recipe; its origin owns what opens it.
DenseTensor TfliteFile::copied_tensor(const Constant& constant) const {
  auto stored = std::make_shared<Stored>();
  stored->name = constant.name;
  stored->data = constant.data;
  stored->element = *constant.type->element;
  stored->shape = constant.shape;
  stored->count = *element_count(constant.shape);  // checked where the constant was decided on
  DenseTensor tensor;
  tensor.name = constant.name;
  tensor.shape = constant.shape;
  tensor.stored = stored_tensor(*stored);
  tensor.origin = std::move(stored);
  return tensor;
}

Status TfliteFile::visit(const TensorVisitor& visitor) {
  for (const Constant& constant : constants_.all) {
    if (constant.use == Use::computed) DEQUANT_CHECK(visitor.dense(dense_tensor(constant)));
    if (constant.use != Use::left) continue;
    LeftTensor left;
    left.name = left.source = constant.name;
    left.reason = constant.reason;
    if (constant.type != nullptr) left.type = name_of(*constant.type);
    left.shape = constant.shape;
    left.bytes = constant.data.size;
    left.unread = true;
    DEQUANT_CHECK(visitor.left(left));
  }
  std::vector<int64_t> shape;
  for (const Activation& activation : constants_.activations) {
    const Numbers<int32_t>& sizes = activation.tensor->shape;
    shape.clear();
    for (size_t i = 0; i < sizes.size(); ++i) shape.push_back(sizes[i]);
    LeftTensor left;
    left.name = left.source = activation.name;
    left.scheme = "QuantizationParameters";
    left.reason = "the model computes it";
    left.type = name_of(*find_type(activation.tensor->type));
    left.shape = shape;
    left.parameters = [&] { return parameters_of(*activation.tensor); };
    DEQUANT_CHECK(visitor.left(left));
  }
  return {};
}

Status TfliteFile::visit_floats(const TensorVisitor& visitor) {
  for (const Constant& constant : constants_.all) {
    if (constant.use != Use::copied) continue;
    const Type& type = *constant.type;
    DEQUANT_CHECK(visit_float(visitor, constant.name, type.name, type.element,
                              [&] { return copied_tensor(constant); }));
  }
  return {};
}

Status TfliteFile::visit_rest(const std::function<Status(const RestTensor&)>& visitor) const {
  for (const Constant& constant : constants_.all) {
    if (constant.use != Use::copied && constant.use != Use::dropped) continue;
    const Type& type = *constant.type;
    DEQUANT_CHECK(
        visitor({constant.name, name_of(type), constant.shape, constant.data.size, constant.reason,
                 Location{{}, constant.data.offset, constant.data.size}, type.bits, &file_}));
  }
  return {};
}

Result<std::optional<DenseTensor>> TfliteFile::stored(const std::string& name) {
  const auto found = constants_.by_name.find(name);
  if (found == constants_.by_name.end()) return std::optional<DenseTensor>();
  const Constant* constant = found->second;
  if (constant->use == Use::left) {
    return failure(ErrorCode::unsupported, "tensor \"{}\": {}", escaped(name), constant->reason);
  }
  if (!constant->type->element) {
    return failure(ErrorCode::unsupported, "tensor \"{}\": type {} is not one that dequant reads",
                   escaped(name), constant->type->name);
  }
  return std::optional(copied_tensor(*constant));
}

Result<std::unique_ptr<StoredReader>> TfliteFile::open(const StoredTensor& tensor, int64_t) {
  return open_stored(file_, *static_cast<const Stored*>(tensor.origin));
}

Status TfliteFile::check_output(const std::string& output) const {
  if (!format::identity_of(output).same_file(file_.identity())) return {};
  return failure(ErrorCode::io, "{} is the input itself", escaped(output));
}

std::string TfliteFile::instead() const {
  return fmt::format("its {} constants are stored as plain numbers, or left",
                     constants_.all.size());
}

Result<ConvertReport> TfliteFile::write(const std::string& output, const WriteOptions& options) {
  return tflite::write(*this, file_, constants_, own_, output, options);
}

}  // namespace dequant::format::tflite
