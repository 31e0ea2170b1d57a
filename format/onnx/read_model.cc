// Reading the structure of a ModelProto, and describing files that are no models.
#include "format/io/errors.h"
#include "format/io/look.h"
#include "format/onnx/check_message.h"
#include "format/onnx/fields.h"
#include "format/onnx/read_graph.h"

namespace dequant::format::onnx {
namespace {

/// Bytes of a file at most: offsets have 32 bits. protobuf reads at most half as many.
constexpr int64_t kLargestFile = UINT32_MAX;

Status read(Model& model, StructureLimit limit) {
  const int64_t size = model.source.file().size();
  if (size > kLargestFile) {
    return failure(ErrorCode::limit, "it has {} bytes, more than the {} that are read", size,
                   kLargestFile);
  }
  StructureMemory memory(model, limit);
  Bodies bodies;
  const auto keep = [&](std::vector<Field>& fields, const Field& f) -> Status {
    memory.add_field();
    fields.push_back(f);
    return memory.check(f.whole.begin, 0);
  };
  DEQUANT_CHECK(for_each_field(model.source, Message::model, model.source.all(),
                               [&](const Field& f) -> Status {
                                 switch (f.number) {
                                   case field::model::ir_version:
                                     model.ir_version = static_cast<int64_t>(f.value);
                                     return {};
                                   case field::model::graph: return keep(bodies.graphs, f);
                                   case field::model::opset_import:
                                     return read_opset(model, f.payload, model.opsets);
                                   case field::model::training_info:
                                     model.has_training = true;
                                     return keep(bodies.training, f);
                                   case field::model::functions:
                                     memory.add_function();
                                     return keep(bodies.functions, f);
                                   default: return {};
                                 }
                               }));
  if (bodies.graphs.empty()) return failure(ErrorCode::malformed, "it has no graph");
  model.graph.opsets = model.opsets;
  DEQUANT_CHECK(read_bodies(model, memory, bodies));
  memory.finish();
  return {};
}

/// The error for a file that is no model. It names the format of the file where that is recognised.
Error explained(const std::string& path, const InputFile& file, Error error) {
  if (error.code == ErrorCode::malformed || error.code == ErrorCode::limit) {
    if (auto other = error_of_look(file)) return *std::move(other);
  }
  if (error.code == ErrorCode::malformed) {
    error = file.size() == 0 ? failure(ErrorCode::malformed, "it is empty")
                             : in("no ONNX model, or a damaged one", std::move(error));
  }
  return in(escaped(path), std::move(error));
}

}  // namespace

const Attribute* Node::attribute(std::string_view wanted) const {
  for (const Attribute& a : attributes) {
    if (a.name == wanted) return &a;
  }
  return nullptr;
}

Status Model::take(int64_t bytes) {
  room -= bytes;
  if (room >= 0) return {};
  return failure(
      ErrorCode::limit,
      "{}: the structure and the decisions on it take more than {} MiB of memory, the most "
      "for a structure of this size; mem allows more",
      escaped(path), memory_limit >> 20);
}

Result<Text> read_text(Source& source, Span span, Store& store) {
  constexpr int64_t kShort = 64 << 10;
  if (span.size() <= kShort) {
    const auto size = static_cast<size_t>(span.size());
    DEQUANT_TRY(const auto bytes, source.peek(span.begin, size));
    return store.text({bytes.data(), size});
  }
  DEQUANT_TRY(const std::string text, source.text(span));
  return store.text(text);
}

Result<std::unique_ptr<Model>> read_model(const std::string& path, StructureLimit limit) {
  DEQUANT_TRY(InputFile file, InputFile::open(path));
  return read_model(std::move(file), limit);
}

Result<std::unique_ptr<Model>> read_model(InputFile file, StructureLimit limit) {
  const std::string path = file.name();
  auto model = std::make_unique<Model>(Source(std::move(file)));
  model->path = model->anchor = path;
  auto status = check_message(model->source);
  if (status) status = read(*model, limit);
  if (!status) {
    return explained(path, model->source.file(), std::move(status).error());
  }
  return model;
}

}  // namespace dequant::format::onnx
