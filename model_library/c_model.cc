// An open model file in C.
#include <span>
#include <utility>

#include "model_library/c_arguments.h"

/// The object of a dequant_model*.
struct dequant_model {
  dequant::Model model;
};

namespace dequant::model_library {
namespace {

using c_api::check_struct;
using c_api::guarded;

Status check_model(const dequant_model* model) {
  if (model == nullptr) return invalid("model: null");
  return {};
}

Status open(const char* path, const dequant_model_open_options* given, dequant_model** model) {
  if (model == nullptr) return invalid("model: null");
  DEQUANT_TRY(const std::string file, text_of("path", path));
  OpenModelOptions options;
  if (given != nullptr) {
    DEQUANT_CHECK(check_struct("dequant_model_open_options", given));
    DEQUANT_TRY(options.options, options_of(given->options, given->option_count));
    options.structure_memory = given->structure_memory;
  }
  DEQUANT_TRY(Model opened, Model::open(file, options));
  *model = new dequant_model{std::move(opened)};
  return {};
}

/// Writes the fields that follow struct_size, which stays that of the caller.
void fill(dequant_model_tensor* out, dequant_model_tensor fields) {
  fields.struct_size = out->struct_size;
  *out = fields;
}

Status tensor_at(const dequant_model* model, size_t i, dequant_model_tensor* out) {
  DEQUANT_CHECK(check_model(model));
  DEQUANT_CHECK(check_struct("dequant_model_tensor", out));
  const auto tensors = model->model.tensors();
  if (i >= tensors.size()) return invalid("i: ", i, " where the model has ", tensors.size());
  const ModelTensor& t = tensors[i];
  fill(out, {.struct_size = 0,
             .name = t.name.c_str(),
             .codes = t.codes.c_str(),
             .node = t.node.c_str(),
             .scheme = t.scheme.c_str(),
             .stored = t.stored.c_str(),
             .reason = "",
             .element = static_cast<dequant_element>(onnx_code(t.element)),
             .rank = t.shape.size(),
             .shape = t.shape.data(),
             .bytes = static_cast<uint64_t>(t.bytes),
             .stored_bytes = static_cast<uint64_t>(t.stored_bytes),
             .quantized = t.quantized ? 1 : 0});
  return {};
}

Status left_at(const dequant_model* model, size_t i, dequant_model_tensor* out) {
  DEQUANT_CHECK(check_model(model));
  DEQUANT_CHECK(check_struct("dequant_model_tensor", out));
  const auto left = model->model.left();
  if (i >= left.size()) return invalid("i: ", i, " where the model has ", left.size());
  const LeftModelTensor& t = left[i];
  fill(out, {.struct_size = 0,
             .name = t.name.c_str(),
             .codes = "",
             .node = t.node.c_str(),
             .scheme = t.scheme.c_str(),
             .stored = "",
             .reason = t.reason.c_str(),
             .element = DEQUANT_NO_ELEMENT,
             .rank = 0,
             .shape = nullptr,
             .bytes = 0,
             .stored_bytes = 0,
             .quantized = 1});
  return {};
}

Status find(const dequant_model* model, const char* name, size_t* i) {
  DEQUANT_CHECK(check_model(model));
  if (i == nullptr) return invalid("i: null");
  DEQUANT_TRY(const std::string text, text_of("name", name));
  DEQUANT_TRY(*i, model->model.find(text));
  return {};
}

/// Calls work(const ReadModelOptions&) with the options of the caller, while their threads exist.
template <class Work>
Status with_options(const dequant_model_read_options* given, Work&& work) {
  ReadModelOptions options;
  if (given == nullptr) return work(options);
  DEQUANT_CHECK(check_struct("dequant_model_read_options", given));
  DEQUANT_CHECK(check_threads(given->threads));
  DEQUANT_TRY(options.output, output_of("output", given->output));
  DEQUANT_TRY(options.memory, memory_of(given->memory));
  ThreadPool pool(given->threads);
  options.executor = pool.executor();
  return work(options);
}

Status read(const dequant_model* model, size_t i, void* y, uint64_t bytes,
            const dequant_model_read_options* given) {
  DEQUANT_CHECK(check_model(model));
  if (y == nullptr && bytes > 0) return invalid("y: null, with ", bytes, " bytes");
  if (!std::in_range<uintptr_t>(bytes) ||
      static_cast<uintptr_t>(bytes) > UINTPTR_MAX - reinterpret_cast<uintptr_t>(y)) {
    return invalid("y: ", bytes, " bytes there reach beyond the end of memory");
  }
  return with_options(given, [&](const ReadModelOptions& options) {
    const std::span out(static_cast<std::byte*>(y), static_cast<size_t>(bytes));
    return model->model.read(i, out, options);
  });
}

Status read_bands(const dequant_model* model, size_t i, dequant_model_band band, void* self,
                  const dequant_model_read_options* given) {
  DEQUANT_CHECK(check_model(model));
  if (band == nullptr) return invalid("band: null");
  const ModelBand pass = [&](int64_t offset, std::span<const std::byte> bytes) {
    return called("band", [&] {
      return band(self, static_cast<uint64_t>(offset), bytes.data(), bytes.size());
    });
  };
  return with_options(
      given, [&](const ReadModelOptions& options) { return model->model.read(i, pass, options); });
}

}  // namespace
}  // namespace dequant::model_library

using dequant::model_library::guarded;

dequant_code dequant_model_open(const char* path, const dequant_model_open_options* options,
                                dequant_model** model, dequant_error* error) {
  // First of all, so that a caller who ignores any error closes nothing.
  if (model != nullptr) *model = nullptr;
  return guarded(error, [&] { return dequant::model_library::open(path, options, model); });
}

void dequant_model_close(dequant_model* model) { delete model; }

// Keys are literals of the formats, so a NUL follows each.
const char* dequant_model_format(const dequant_model* model) {
  return model == nullptr ? "" : model->model.format().data();
}

size_t dequant_model_tensor_count(const dequant_model* model) {
  return model == nullptr ? 0 : model->model.tensors().size();
}

size_t dequant_model_left_count(const dequant_model* model) {
  return model == nullptr ? 0 : model->model.left().size();
}

dequant_code dequant_model_tensor_at(const dequant_model* model, size_t i,
                                     dequant_model_tensor* tensor, dequant_error* error) {
  return guarded(error, [&] { return dequant::model_library::tensor_at(model, i, tensor); });
}

dequant_code dequant_model_left_at(const dequant_model* model, size_t i,
                                   dequant_model_tensor* tensor, dequant_error* error) {
  return guarded(error, [&] { return dequant::model_library::left_at(model, i, tensor); });
}

dequant_code dequant_model_find(const dequant_model* model, const char* name, size_t* i,
                                dequant_error* error) {
  return guarded(error, [&] { return dequant::model_library::find(model, name, i); });
}

dequant_code dequant_model_read(const dequant_model* model, size_t i, void* y, uint64_t y_bytes,
                                const dequant_model_read_options* options, dequant_error* error) {
  return guarded(error,
                 [&] { return dequant::model_library::read(model, i, y, y_bytes, options); });
}

dequant_code dequant_model_read_bands(const dequant_model* model, size_t i, dequant_model_band band,
                                      void* self, const dequant_model_read_options* options,
                                      dequant_error* error) {
  return guarded(error,
                 [&] { return dequant::model_library::read_bands(model, i, band, self, options); });
}
