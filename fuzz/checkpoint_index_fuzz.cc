// The index of a checkpoint with several files: any text, and maps that are mostly right. A naive
// reader of the whole document agrees.
#include <sys/stat.h>
#include <unistd.h>

#include <map>

#include "format/checkpoint/shards.h"
#include "fuzz/support/check.h"
#include "fuzz/support/checkpoint.h"

namespace dequant::fuzz {
namespace {

using format::checkpoint::Entry;
using format::checkpoint::Shards;
using nlohmann::json;

constexpr std::string_view kIndex = "model.safetensors.index.json";

/// The files of the folder and their tensors.
const std::map<std::string, std::vector<std::string>>& files() {
  static const std::map<std::string, std::vector<std::string>> all{
      {"a.safetensors", {"x", "y.weight"}},
      {"b.safetensors", {"z", "\u00e9\n"}},
      {"again.safetensors", {"x", "w"}},
      {"none.safetensors", {}}};
  return all;
}

/// A folder with these files, and with what no index may name.
CheckpointFolder made_folder() {
  CheckpointFolder folder;
  Cursor none(nullptr, 0);
  for (const auto& [file, names] : files()) {
    Checkpoint one;
    for (const std::string& name : names) one.tensors.push_back({name, "U8", {1}});
    require(folder.write(one, none, false, 16), "no file");
    const std::string made = folder.path_of("model.safetensors");
    require(::rename(made.c_str(), (folder.path() + "-" + file).c_str()) == 0, "no file");
  }
  for (const auto& [file, names] : files()) {
    require(::rename((folder.path() + "-" + file).c_str(), folder.path_of(file).c_str()) == 0,
            "no file");
  }
  folder.write_text("text.safetensors", "{}");
  require(::mkdir(folder.path_of("folder.safetensors").c_str(), 0700) == 0, "no folder");
  require(::mkfifo(folder.path_of("pipe.safetensors").c_str(), 0600) == 0, "no pipe");
  require(::symlink("/dev/zero", folder.path_of("link.safetensors").c_str()) == 0, "no link");
  return folder;
}

std::string index_of(Cursor& cursor) {
  constexpr std::array<std::string_view, 12> kFiles{
      "a.safetensors",       "b.safetensors",      "again.safetensors",   "none.safetensors",
      "text.safetensors",    "folder.safetensors", "pipe.safetensors",    "link.safetensors",
      "../in/a.safetensors", "/etc/passwd",        "missing.safetensors", "a.safetensors\0"};
  json map = json::object();
  for (const auto& [file, names] : files()) {
    if (cursor.coin()) continue;
    for (const std::string& name : names) {
      if (cursor.rarely()) continue;
      map[name] = cursor.rarely() ? std::string(cursor.pick(kFiles)) : file;
    }
  }
  if (cursor.rarely()) map["q"] = cursor.pick(kFiles);
  if (cursor.rarely()) map["x"] = cursor.extreme();
  json document{{"weight_map", map}};
  if (cursor.coin()) document["metadata"] = {{"total_size", cursor.extreme()}};
  if (cursor.rarely()) document.erase("weight_map");
  return document.dump();
}

/// True where the index names each tensor of the files that it names, and no other.
bool is_right(const json& document) {
  const json* map = format::member(document, "weight_map");
  if (map == nullptr || !map->is_object()) return false;
  std::map<std::string, std::string> wanted;
  for (const auto& [name, file] : map->items()) {
    if (!file.is_string()) return false;
    const auto known = files().find(file.get<std::string>());
    if (known == files().end()) return false;
    for (const std::string& tensor : known->second) {
      if (!wanted.emplace(tensor, known->first).second && wanted[tensor] != known->first)
        return false;
    }
  }
  for (const auto& [name, file] : map->items()) {
    if (!wanted.contains(name) || wanted[name] != file) return false;
  }
  return !map->empty() && map->size() == wanted.size();
}

void fuzz(CheckpointFolder& folder, std::span<const uint8_t> input) {
  Cursor cursor(input.data(), input.size());
  std::string text;
  if (cursor.byte() < 0x80) {
    text = index_of(cursor);
  } else {
    const auto rest = cursor.rest();
    text.assign(rest.begin(), rest.end());
  }
  folder.write_text(kIndex, text);
  const auto shards = Shards::open(folder.path());
  const auto document = format::parse_json(text);
  require(accepted(shards) == (document && is_right(*document)), "the naive reader disagrees");
  if (!shards) return;
  const json& map = document->at("weight_map");
  require((*shards)->entries().size() == map.size(), "another number of tensors");
  for (const Entry& entry : (*shards)->entries()) {
    require((*shards)->file_of(entry).name == map.at(std::string(entry.name())), "another file");
    require((*shards)->find(entry.name()) == &entry, "a tensor that is not found");
    require(accepted((*shards)->read(entry, 1)), "a tensor that cannot be read");
  }
}

}  // namespace
}  // namespace dequant::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static dequant::fuzz::CheckpointFolder folder = dequant::fuzz::made_folder();
  dequant::fuzz::fuzz(folder, {data, size});
  return 0;
}
