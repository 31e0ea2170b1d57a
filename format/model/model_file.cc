// Reading the tensors of a model file.
#include "format/model/model_file.h"

#include <algorithm>

#include "format/io/errors.h"

namespace dequant::format {
namespace {

/// Opens a stored tensor whose bytes are handed out. Demands that its reader, which may see other
/// elements in them, has as many bytes as its type.
Result<std::unique_ptr<StoredReader>> open_whole(ModelFile& file, const StoredTensor& tensor,
                                                 int64_t memory) {
  DEQUANT_TRY(auto reader, file.open(tensor, memory));
  DEQUANT_TRY(const int64_t bytes, packed_bytes(reader->element(), reader->count()));
  DEQUANT_TRY(const int64_t count, element_count(tensor.type.shape));
  DEQUANT_TRY(const int64_t needed, packed_bytes(tensor.type.element, count));
  if (bytes == needed) return reader;
  return failure(ErrorCode::malformed,
                 "tensor {}: {} bytes are stored, and its {} elements of {} "
                 "take {}",
                 escaped(tensor.name), bytes, count, name(tensor.type.element), needed);
}

}  // namespace

Result<AuditReport> ModelFile::check_audit(const std::string&, const Progress&) {
  return failure(ErrorCode::unsupported, "{}: {} have no audits", escaped(path_), format_.files);
}

Status visit_float(const TensorVisitor& visitor, std::string_view name, std::string_view type,
                   std::optional<Element> element, const std::function<DenseTensor()>& copied) {
  if (element && is_output(*element)) return visitor.dense(copied());
  if (type != "F64" && type != "FLOAT64") return {};
  LeftTensor left;
  left.name = left.source = name;
  left.reason = fmt::format("dequant does not read type {}", type);
  return visitor.left(left);
}

Result<RecipeReaders> open_readers(ModelFile& file, const DenseTensor& tensor,
                                   const StreamOptions& options) {
  const int64_t memory = parameter_memory(options);
  const Recipe& recipe = *tensor.recipe;
  RecipeReaders readers;
  DEQUANT_TRY(readers.codes, file.open(tensor.stored, memory));
  if (recipe.scale) {
    DEQUANT_TRY(readers.scale, file.open(*recipe.scale, memory));
  }
  if (recipe.zero_point) {
    DEQUANT_TRY(readers.zero_point, file.open(*recipe.zero_point, memory));
  }
  if (recipe.tensor_scale) {
    DEQUANT_TRY(readers.tensor_scale, file.open(*recipe.tensor_scale, memory));
  }
  if (recipe.group_index) {
    DEQUANT_TRY(readers.group_index, file.open(*recipe.group_index, memory));
  }
  if (recipe.codebook) {
    DEQUANT_TRY(readers.codebook, file.open(*recipe.codebook, memory));
  }
  return readers;
}

Status stream(ModelFile& file, const DenseTensor& tensor, const StreamOptions& options,
              const Sink& sink) {
  if (tensor.recipe) {
    DEQUANT_TRY(RecipeReaders readers, open_readers(file, tensor, options));
    return stream(tensor.recipe->plan, std::move(readers), options, sink);
  }
  constexpr int64_t kElementsAtOnce = int64_t{1} << 20;  // elements
  DEQUANT_TRY(const auto reader, open_whole(file, tensor.stored, options.memory));
  while (reader->left() > 0) {
    DEQUANT_TRY(const auto part, reader->next(std::min(kElementsAtOnce, reader->left())));
    DEQUANT_CHECK(sink(part));
  }
  return reader->finish();
}

Status read(ModelFile& file, const DenseTensor& tensor, const StreamOptions& options,
            std::span<std::byte> y) {
  if (!tensor.recipe) return read(file, tensor.stored, y);
  DEQUANT_TRY(RecipeReaders readers, open_readers(file, tensor, options));
  return fill(tensor.recipe->plan, std::move(readers), options, y);
}

Status read(ModelFile& file, const StoredTensor& tensor, std::span<std::byte> bytes) {
  DEQUANT_TRY(const auto reader, open_whole(file, tensor, StreamOptions().memory));
  DEQUANT_CHECK(reader->read(reader->left(), bytes));
  return reader->finish();
}

}  // namespace dequant::format
