// GGUF files as model files.
#include "format/gguf/gguf_file.h"

#include <nlohmann/json.hpp>

#include "format/dense/audit.h"
#include "format/gguf/describe.h"
#include "format/gguf/format.h"
#include "format/gguf/write.h"
#include "format/io/errors.h"

namespace dequant::format::gguf {

GgufFile::GgufFile(std::string path, std::unique_ptr<Parts> parts, Uses uses, Options own)
    : ModelFile(kFormat, std::move(path)),
      parts_(std::move(parts)),
      uses_(std::move(uses)),
      own_(std::move(own)) {}

Result<std::unique_ptr<ModelFile>> GgufFile::open(const std::string& path,
                                                  const OpenOptions& options) {
  DEQUANT_TRY(Options own, read_options(options.own));
  DEQUANT_TRY(InputFile first, open_input(path, options));
  DEQUANT_TRY(auto parts, Parts::open(std::move(first)));
  if (own.names == Names::transformers) {
    if (auto renamed = rename_for_transformers(*parts); !renamed)
      return in(escaped(path), std::move(renamed).error());
  }
  auto uses = Uses::of(*parts);
  if (!uses) return in(escaped(path), std::move(uses).error());
  return std::unique_ptr<ModelFile>(
      new GgufFile(path, std::move(parts), *std::move(uses), std::move(own)));
}

nlohmann::ordered_json GgufFile::facts() const { return gguf::facts(*parts_); }

Headline GgufFile::headline() const {
  const std::string name = architecture(*parts_);
  const std::string type = file_type(*parts_);
  const size_t files = parts_->files().size();
  return {"Architecture", name.empty() ? "not named" : escaped(name),
          fmt::format("{}{}{} parameters in {} tensors, {} file{}", type, type.empty() ? "" : ", ",
                      parameters(*parts_), parts_->entries().size(), files, files == 1 ? "" : "s")};
}

std::vector<Headline> GgufFile::details() const { return gguf::details(*parts_); }

StoredTensor GgufFile::stored_tensor(const Entry& entry, Shape shape) const {
  const Type& type = entry.type();
  const bool swapped = parts_->big_endian() && !type.block && type.bytes > 1;
  std::optional<Location> location;
  if (!swapped && entry.is_stored())
    location = {parts_->part_of(entry).name, entry.offset(), entry.bytes()};
  return {entry.name(),  {type.element.value_or(Element::uint8), shape},
          entry.bytes(), location,
          &entry,        &entry};
}

DenseTensor GgufFile::dense_tensor(const Blocks& blocks) const {
  const Entry& entry = *blocks.entry;
  DenseTensor tensor;
  tensor.name = tensor.source = entry.name();
  tensor.scheme = entry.type().name;
  tensor.shape = entry.float_shape();
  tensor.stored = stored_tensor(entry, blocks.bytes_shape);
  tensor.recipe.emplace();
  tensor.recipe->plan = blocks.plan;
  tensor.recipe->axis = axis_of(entry);
  if (blocks.scale != nullptr)
    tensor.recipe->tensor_scale = stored_tensor(*blocks.scale, blocks.scale->shape());
  return tensor;
}

DenseTensor GgufFile::copied_tensor(const Entry& entry) const {
  DenseTensor tensor;
  tensor.name = entry.name();
  tensor.shape = entry.float_shape();
  tensor.stored = stored_tensor(entry, entry.float_shape());
  return tensor;
}

Status GgufFile::visit(const TensorVisitor& visitor) {
  for (const Blocks& blocks : uses_.blocks()) DEQUANT_CHECK(visitor.dense(dense_tensor(blocks)));
  return {};
}

Status GgufFile::visit_floats(const TensorVisitor& visitor) {
  for (const Entry& entry : parts_->entries()) {
    if (!uses_.is_copied(entry)) continue;
    const Type& type = entry.type();
    DEQUANT_CHECK(visit_float(visitor, entry.name(), type.name, type.element,
                              [&] { return copied_tensor(entry); }));
  }
  return {};
}

RestTensor GgufFile::rest_tensor(const Entry& entry, std::string_view dropped) const {
  const Part& part = parts_->part_of(entry);
  return {entry.name(),
          entry.type().name,
          entry.float_shape(),
          entry.bytes(),
          dropped,
          Location{part.name, entry.offset(), entry.bytes()},
          static_cast<int>(8 * entry.type().bytes),
          &part.file};
}

Status GgufFile::visit_rest(const std::function<Status(const RestTensor&)>& visitor) const {
  for (const Entry& entry : parts_->entries()) {
    if (uses_.is_copied(entry)) DEQUANT_CHECK(visitor(rest_tensor(entry, {})));
  }
  for (const Dropped& dropped : uses_.dropped())
    DEQUANT_CHECK(visitor(rest_tensor(*dropped.entry, dropped.reason)));
  return {};
}

Result<std::optional<DenseTensor>> GgufFile::stored(const std::string& name) {
  const Entry* entry = parts_->find(name);
  if (entry == nullptr) return std::optional<DenseTensor>();
  if (!entry->type().element) {
    return failure(ErrorCode::unsupported, "tensor {}: type {} is not one that dequant reads",
                   escaped(name), entry->type().name);
  }
  return std::optional(copied_tensor(*entry));
}

Result<std::unique_ptr<StoredReader>> GgufFile::open(const StoredTensor& tensor, int64_t) {
  return open_entry(*parts_, *static_cast<const Entry*>(tensor.origin));
}

Status GgufFile::check_output(const std::string& output) const {
  const FileIdentity out = identity_of(output);
  if (out.size < 0) return {};
  for (const Part& part : parts_->files()) {
    if (out.same_file(part.file.identity()))
      return failure(ErrorCode::io, "{} is the input itself", escaped(output));
  }
  return {};
}

std::string GgufFile::instead() const {
  return fmt::format("its {} tensors are stored as plain numbers", parts_->entries().size());
}

Result<AuditReport> GgufFile::check_audit(const std::string& audit, const Progress& progress) {
  std::vector<RestTensor> tensors;
  for (const Entry& entry : parts_->entries()) tensors.push_back(rest_tensor(entry, {}));
  DEQUANT_TRY(AuditReport report, dense::check_audit(tensors, parts_->bytes(), audit, progress));
  DEQUANT_CHECK(parts_->check_unchanged());
  return report;
}

Result<ConvertReport> GgufFile::write(const std::string& output, const WriteOptions& options) {
  return gguf::write(*this, *parts_, uses_, own_, output, options);
}

}  // namespace dequant::format::gguf
