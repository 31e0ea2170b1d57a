// Checkpoints as model files.
#include "format/checkpoint/checkpoint_file.h"

#include <map>
#include <nlohmann/json.hpp>

#include "format/checkpoint/format.h"
#include "format/checkpoint/scheme.h"
#include "format/checkpoint/write.h"
#include "format/dense/audit.h"
#include "format/io/errors.h"

namespace dequant::format::checkpoint {

namespace {

Result<std::unique_ptr<Shards>> open_shards(const std::string& path, const OpenOptions& options) {
  if (!options.bytes) return Shards::open(path);
  DEQUANT_TRY(InputFile file, open_input(path, options));
  return Shards::of_file(std::move(file));
}

}  // namespace

CheckpointFile::CheckpointFile(std::string path, std::unique_ptr<Shards> shards, Config config,
                               Options own)
    : ModelFile(kFormat, std::move(path)),
      shards_(std::move(shards)),
      config_(std::move(config)),
      own_(own),
      groups_(*shards_, config_) {}

Result<std::unique_ptr<ModelFile>> CheckpointFile::open(const std::string& path,
                                                        const OpenOptions& options) {
  DEQUANT_TRY(const Options own, read_options(options.own));
  DEQUANT_TRY(auto shards, open_shards(path, options));
  DEQUANT_TRY(Config config, Config::read(*shards));
  std::unique_ptr<CheckpointFile> file(
      new CheckpointFile(path, std::move(shards), std::move(config), own));
  if (auto status = recognise(file->groups_, own.keep_unknown); !status)
    return in(escaped(path), std::move(status).error());
  return std::unique_ptr<ModelFile>(std::move(file));
}

nlohmann::ordered_json CheckpointFile::facts() const {
  std::map<std::string_view, int64_t> schemes;
  for (const Group& group : groups_.groups()) ++schemes[group.scheme];
  nlohmann::ordered_json j = nlohmann::ordered_json::object();
  j["quant_method"] = config_.method();
  j["files"] = shards_->files().size();
  j["stored_tensors"] = shards_->entries().size();
  j["schemes"] = nlohmann::ordered_json::object();
  for (const auto& [scheme, count] : schemes) j["schemes"][std::string(scheme)] = count;
  return j;
}

Headline CheckpointFile::headline() const {
  const std::string method = config_.method();
  const size_t files = shards_->files().size();
  return {"Quantization", method.empty() ? "not named" : escaped(method),
          fmt::format("{} tensors in {} file{}", shards_->entries().size(), files,
                      files == 1 ? "" : "s")};
}

/// A folder has none: its files may have different ones.
bool CheckpointFile::visit_metadata(
    const std::function<void(std::string_view key, std::string_view text)>& visitor) const {
  if (shards_->is_folder()) return false;
  const safetensors::Header& header = shards_->files().front().header;
  for (const safetensors::MetadataPair& pair : header.metadata()) visitor(pair.key(), pair.value());
  return header.has_metadata();
}

StoredTensor CheckpointFile::stored_tensor(const Part& part) const {
  std::optional<Location> location;
  if (part.is_stored()) {
    const safetensors::Tensor& tensor = *part.entry->tensor;
    location = {shards_->file_of(*part.entry).name, tensor.offset, tensor.bytes};
  }
  return {part.name(), part.stored_type(), stored_bytes(part), location, part.identity(), &part};
}

DenseTensor CheckpointFile::dense_tensor(const Group& group) const {
  DenseTensor tensor;
  tensor.name = group.name;
  tensor.source = group.codes.entry->name();
  tensor.scheme = group.scheme;
  tensor.shape = group.shape;
  tensor.stored = stored_tensor(group.codes);
  const auto parameter = [&](const Part& part) {
    return part ? std::optional(stored_tensor(part)) : std::nullopt;
  };
  tensor.recipe = {group.plan,
                   group.axis,
                   *parameter(group.scale),
                   parameter(group.zero_point),
                   parameter(group.tensor_scale),
                   parameter(group.group_index),
                   parameter(group.codebook),
                   group.variants,
                   !group.scale.is_stored() && stored_bytes(group.scale) == 0};
  return tensor;
}

LeftTensor CheckpointFile::left_tensor(const Entry& codes, const std::string& reason) const {
  LeftTensor left;
  left.name = left.source = codes.name();
  left.reason = reason;
  left.type = codes.dtype();
  left.shape = codes.shape();
  left.bytes = codes.tensor->bytes;
  return left;
}

Status CheckpointFile::visit(const TensorVisitor& visitor) {
  for (const Group& group : groups_.groups()) DEQUANT_CHECK(visitor.dense(dense_tensor(group)));
  for (const Unknown& unknown : groups_.unknown())
    DEQUANT_CHECK(visitor.left(left_tensor(*unknown.entry, unknown.reason)));
  for (const Unread& unread : groups_.unread()) {
    LeftTensor left = left_tensor(*unread.codes, unread.reason);
    left.unread = true;
    DEQUANT_CHECK(visitor.left(left));
  }
  return {};
}

/// A tensor without a recipe; its origin owns the part.
DenseTensor CheckpointFile::copied_tensor(const Entry& entry) const {
  const auto part = std::make_shared<const Part>(*part_of(entry));
  DenseTensor tensor;
  tensor.name = entry.name();
  tensor.shape = entry.shape();
  tensor.stored = stored_tensor(*part);
  tensor.origin = part;
  return tensor;
}

Status CheckpointFile::visit_floats(const TensorVisitor& visitor) {
  for (const Entry& entry : shards_->entries()) {
    if (!groups_.is_copied(entry)) continue;
    DEQUANT_CHECK(visit_float(visitor, entry.name(), entry.dtype(), entry.tensor->dtype->element,
                              [&] { return copied_tensor(entry); }));
  }
  return {};
}

RestTensor CheckpointFile::rest_tensor(const Entry& entry, std::string_view dropped) const {
  const Shard& shard = shards_->file_of(entry);
  const safetensors::Tensor& t = *entry.tensor;
  return {entry.name(),  entry.dtype(), entry.shape(),
          t.bytes,       dropped,       Location{shard.name, t.offset, t.bytes},
          t.dtype->bits, &shard.file};
}

Status CheckpointFile::visit_rest(const std::function<Status(const RestTensor&)>& visitor) const {
  for (const Entry& entry : shards_->entries()) {
    if (groups_.is_copied(entry)) DEQUANT_CHECK(visitor(rest_tensor(entry, {})));
  }
  for (const Dropped& dropped : groups_.dropped())
    DEQUANT_CHECK(visitor(rest_tensor(*dropped.entry, dropped.reason)));
  return {};
}

Result<std::optional<DenseTensor>> CheckpointFile::stored(const std::string& name) {
  const Entry* entry = shards_->find(name);
  if (entry == nullptr) return std::optional<DenseTensor>();
  if (const Unread* unread = groups_.unread_of(*entry)) {
    return failure(ErrorCode::unsupported,
                   "tensor {}: {}; keep-unknown takes such tensors as they are", escaped(name),
                   unread->reason);
  }
  DEQUANT_CHECK(part_of(*entry));
  return std::optional(copied_tensor(*entry));
}

Result<std::unique_ptr<StoredReader>> CheckpointFile::open(const StoredTensor& tensor,
                                                           int64_t memory) {
  return open_part(*shards_, *static_cast<const Part*>(tensor.origin), memory);
}

void CheckpointFile::for_each_source(const StoredTensor& tensor,
                                     const SourceVisitor& visitor) const {
  for_each_entry(*static_cast<const Part*>(tensor.origin),
                 [&](const Entry& entry) { visitor(entry.tensor, entry.tensor->bytes); });
}

Result<AuditReport> CheckpointFile::check_audit(const std::string& audit,
                                                const Progress& progress) {
  std::vector<RestTensor> tensors;
  for (const Entry& entry : shards_->entries()) tensors.push_back(rest_tensor(entry, {}));
  DEQUANT_TRY(AuditReport report, dense::check_audit(tensors, shards_->bytes(), audit, progress));
  DEQUANT_CHECK(shards_->check_unchanged());
  return report;
}

Status CheckpointFile::check_output(const std::string& output) const {
  const FileIdentity out = identity_of(output);
  if (out.size < 0) return {};
  const FileIdentity folder = identity_of(shards_->folder());
  const bool same_folder = shards_->is_folder() && out.same_file(folder);
  for (const Shard& shard : shards_->files()) {
    if (same_folder || out.same_file(shard.file.identity()))
      return failure(ErrorCode::io, "{} is the input itself", escaped(output));
  }
  // What the folder has besides weights: config.json, the index, tokenizers.
  if (shards_->is_folder() && output.ends_with(".json") &&
      folder.same_file(identity_of(folder_of(output))))
    return failure(ErrorCode::io, "{} is a file of the input", escaped(output));
  return {};
}

std::string CheckpointFile::instead() const {
  return fmt::format("its {} tensors are stored as floats or integers", shards_->entries().size());
}

Result<ConvertReport> CheckpointFile::write(const std::string& output,
                                            const WriteOptions& options) {
  return checkpoint::write(*this, groups_, own_, output, options);
}

}  // namespace dequant::format::checkpoint
