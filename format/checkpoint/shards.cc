// The safetensors files of a checkpoint.
#include "format/checkpoint/shards.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <set>

#include "format/checkpoint/names.h"
#include "format/dense/folder_state.h"
#include "format/io/below.h"
#include "format/io/errors.h"
#include "format/io/output.h"
#include "format/json/json.h"

namespace dequant::format::checkpoint {
namespace {

constexpr const char* kWhat = "shard";
/// The file that makes a folder a pipeline of diffusers.
constexpr std::string_view kPipeline = "model_index.json";
/// Bytes of an index: that of 46,000 tensors has 5 million.
constexpr int64_t kMostIndexBytes = int64_t{256} << 20;

/// The regular files and links of a folder, sorted.
Result<std::vector<std::string>> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code e;
  for (std::filesystem::directory_iterator at(folder, e), end; !e && at != end; at.increment(e)) {
    const std::string& path = at->path().native();
    if (!at->is_directory(e)) names.push_back(path.substr(path.rfind('/') + 1));
    e.clear();
  }
  if (e) return failure(ErrorCode::io, "{}: {}", escaped(folder), e.message());
  std::sort(names.begin(), names.end());
  return names;
}

/// "model-00002-of-00005.safetensors": "model" and 5; nothing for other names.
std::optional<std::pair<std::string, std::string>> numbered(const std::string& name) {
  constexpr size_t kTail = sizeof("-00001-of-00005.safetensors") - 1;
  if (name.size() <= kTail || !name.ends_with(kSafetensors)) return {};
  const std::string tail = name.substr(name.size() - kTail);
  if (tail[0] != '-' || tail.substr(6, 4) != "-of-") return {};
  const std::string count = tail.substr(10, 5);
  const auto digits = [](const std::string& text) {
    return text.find_first_not_of("0123456789") == std::string::npos;
  };
  if (!digits(tail.substr(1, 5)) || !digits(count)) return {};
  return std::pair(name.substr(0, name.size() - kTail), count);
}

Error several(const std::string& folder, const std::string& a, const std::string& b) {
  return failure(ErrorCode::unsupported,
                 "{} has {} and {}, and nothing says which is the checkpoint: give the path of one",
                 escaped(folder), escaped(a), escaped(b));
}

bool has_end(std::string_view name, std::initializer_list<std::string_view> ends) {
  return std::ranges::any_of(ends, [&](std::string_view end) { return name.ends_with(end); });
}

/// The error of a folder without safetensors files, with what the folder has instead.
Error no_files(const std::string& folder, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (name == kPipeline) {
      return failure(ErrorCode::unsupported,
                     "{}: a pipeline of diffusers has its models in folders of their own: give the "
                     "path of one, such as transformer, unet or text_encoder",
                     escaped(folder));
    }
  }
  for (const std::string& name : names) {
    if (has_end(name, {".bin", ".pt", ".pth"})) {
      return failure(ErrorCode::unsupported,
                     "{}: no .safetensors file in this folder, and dequant does not read {}: save "
                     "the model as safetensors",
                     escaped(folder), escaped(name));
    }
  }
  if (has_end(folder, {".mlpackage", ".mlpackage/"})) {
    return failure(ErrorCode::unsupported,
                   "{} looks like a Core ML model, which dequant does not read", escaped(folder));
  }
  for (const std::string& name : names) {
    if (!has_end(name, {".onnx", ".gguf", ".tflite"})) continue;
    return failure(ErrorCode::io,
                   "{}: no .safetensors file in this folder; it has {}: give the path of that file",
                   escaped(folder), escaped(name));
  }
  return failure(ErrorCode::io, "{}: no .safetensors file in this folder", escaped(folder));
}

/// The files of a folder without an index.
Result<std::vector<std::string>> files_without_index(const std::string& folder,
                                                     const std::vector<std::string>& names) {
  std::vector<std::string> files;
  for (const std::string& name : names) {
    if (name == kModel) return std::vector<std::string>{name};
    if (name.ends_with(kSafetensors)) files.push_back(name);
  }
  if (files.empty()) return no_files(folder, names);
  if (files.size() == 1 && !numbered(files[0])) return files;
  for (const std::string& file : files) {
    if (!numbered(file) || numbered(file) != numbered(files[0]))
      return several(folder, files[0], file == files[0] ? files.back() : file);
  }
  if (std::to_string(files.size()) !=
      std::to_string(std::strtoul(numbered(files[0])->second.c_str(), nullptr, 10))) {
    return failure(ErrorCode::malformed, "{}: {} of the {} files of {} are there", escaped(folder),
                   files.size(), numbered(files[0])->second, escaped(numbered(files[0])->first));
  }
  return files;
}

}  // namespace

Result<std::unique_ptr<Shards>> Shards::open(const std::string& path) {
  struct stat s {};
  const bool is_folder = ::stat(path.c_str(), &s) == 0 && S_ISDIR(s.st_mode);
  if (!is_folder && !path.ends_with(kIndex)) {
    DEQUANT_TRY(InputFile file, InputFile::open(path));
    DEQUANT_TRY(auto shards, of_file(std::move(file)));
    shards->config_folder_ = shards->folder_;
    return shards;
  }
  std::unique_ptr<Shards> shards(new Shards);
  shards->is_folder_ = true;
  if (is_folder) {
    shards->folder_ = path;
    DEQUANT_CHECK(shards->open_folder());
  } else {
    shards->folder_ = folder_of(path);
    shards->index_ = std::filesystem::path(path).filename().string();
    DEQUANT_CHECK(shards->open_index());
  }
  shards->config_folder_ = shards->folder_;
  DEQUANT_TRY(const bool unfinished, dense::FolderState(shards->folder_).exists());
  if (!unfinished) return shards;
  return failure(ErrorCode::malformed,
                 "{}: a conversion into this folder is not complete, as its {} says: resume "
                 "continues the conversion, and force begins it again",
                 escaped(shards->folder_), dense::kStateName);
}

Result<std::unique_ptr<Shards>> Shards::of_file(InputFile file) {
  std::unique_ptr<Shards> shards(new Shards);
  const std::filesystem::path whole(file.name());
  shards->folder_ = whole.has_parent_path() ? whole.parent_path().string() : ".";
  DEQUANT_TRY(auto header, safetensors::Header::read(file));
  shards->files_.push_back({whole.filename().string(), std::move(file), std::move(header)});
  DEQUANT_CHECK(shards->add_entries());
  return shards;
}

Status Shards::find_index(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (name == kModelIndex) {
      index_ = name;
      return {};
    }
  }
  for (const std::string& name : names) {
    if (!name.ends_with(kIndex)) continue;
    if (!index_.empty()) return several(folder_, index_, name);
    index_ = name;
  }
  return {};
}

Status Shards::open_folder() {
  DEQUANT_TRY(const auto names, names_in(folder_));
  DEQUANT_CHECK(find_index(names));
  if (!index_.empty()) return open_index();
  DEQUANT_TRY(const auto files, files_without_index(folder_, names));
  anchor_ = folder_ + "/" + files[0];
  for (const std::string& name : files) DEQUANT_CHECK(add_file(name));
  return add_entries();
}

Status Shards::open_index() {
  anchor_ = folder_ + "/" + index_;
  DEQUANT_TRY(const std::string text, read_small_file(anchor_, kMostIndexBytes));
  auto document = parse_json(text);
  if (!document) return in(escaped(anchor_), std::move(document).error());
  const nlohmann::json* map = member(*document, "weight_map");
  if (map == nullptr || !map->is_object())
    return failure(ErrorCode::malformed, "{}: no object \"weight_map\"", escaped(anchor_));
  std::set<std::string> names;
  for (const auto& [tensor, file] : map->items()) {
    if (!file.is_string()) {
      return failure(ErrorCode::malformed, "{}: tensor {}: the file is {}, not a string",
                     escaped(anchor_), escaped(tensor), shown(file));
    }
    names.insert(file.get<std::string>());
  }
  if (names.empty()) return failure(ErrorCode::malformed, "{}: it names no file", escaped(anchor_));
  for (const std::string& name : names) {
    if (name.find('/') != std::string::npos || !name.ends_with(kSafetensors)) {
      return failure(ErrorCode::io, "{}: \"{}\" is no name of a .safetensors file in the folder",
                     escaped(anchor_), escaped(name));
    }
    DEQUANT_CHECK(add_file(name));
  }
  DEQUANT_CHECK(add_entries());
  return check_index(*map);
}

Status Shards::add_file(const std::string& name) {
  DEQUANT_TRY(InputFile file, open_below(kWhat, anchor_, name));
  DEQUANT_TRY(auto header, safetensors::Header::read(file));
  files_.push_back({name, std::move(file), std::move(header)});
  return {};
}

Status Shards::add_entries() {
  size_t count = 0;
  for (const Shard& shard : files_) count += shard.header.tensors().size();
  entries_.reserve(count);
  by_name_.reserve(count);
  for (uint32_t i = 0; i < files_.size(); ++i) {
    for (const safetensors::Tensor& tensor : files_[i].header.tensors()) {
      entries_.push_back({&tensor, i});
      const auto [other, added] = by_name_.emplace(tensor.name, &entries_.back());
      if (added) continue;
      return failure(ErrorCode::malformed, "tensor {} is in {} and in {}", escaped(tensor.name),
                     escaped(file_of(*other->second).name), escaped(files_[i].name));
    }
  }
  return {};
}

/// Demands that index and files have the same tensors.
Status Shards::check_index(const WeightMap& map) const {
  for (const auto& [name, file] : map.items()) {
    const Entry* entry = find(name);
    if (entry != nullptr && file_of(*entry).name == file.get_ref<const std::string&>()) continue;
    return failure(ErrorCode::malformed, "{}: tensor {} is not in {}, where the index has it",
                   escaped(anchor_), escaped(name), escaped(file.get_ref<const std::string&>()));
  }
  if (map.size() == entries_.size()) return {};
  for (const Entry& entry : entries_) {
    if (map.contains(entry.name())) continue;
    return failure(ErrorCode::malformed, "{}: tensor {} of {} is not in the index",
                   escaped(anchor_), escaped(entry.name()), escaped(file_of(entry).name));
  }
  return {};
}

const Entry* Shards::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

Result<std::vector<std::byte>> Shards::read(const Entry& entry, int64_t most) const {
  if (entry.tensor->bytes > most) {
    return failure(ErrorCode::limit, "tensor {}: {} bytes, more than {}", escaped(entry.name()),
                   entry.tensor->bytes, most);
  }
  std::vector<std::byte> bytes(static_cast<size_t>(entry.tensor->bytes));
  DEQUANT_CHECK(file_of(entry).file.read(entry.tensor->offset, bytes));
  return bytes;
}

Status Shards::check_unchanged() const {
  for (const Shard& shard : files_) DEQUANT_CHECK(shard.file.check_unchanged());
  return {};
}

int64_t Shards::bytes() const {
  int64_t sum = 0;
  for (const Shard& shard : files_) sum += shard.file.size();
  return sum;
}

}  // namespace dequant::format::checkpoint
