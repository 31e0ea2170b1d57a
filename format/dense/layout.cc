// The files of a dense model.
#include "format/dense/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "format/io/errors.h"
#include "format/io/hash.h"
#include "format/io/utf8.h"
#include "format/json/json.h"

namespace dequant::format::dense {

using nlohmann::ordered_json;

namespace {

constexpr std::array<std::string_view, 2> kStems{"diffusion_pytorch_model", "consolidated"};

}  // namespace

Range stored_part(const OutputTensor& tensor, Range bytes) {
  if (!tensor.from) return bytes;
  const int64_t before = bits(*tensor.from);
  const int64_t after = bits(tensor.output);
  return {bytes.begin * before / after, bytes.end * before / after};
}

std::string hash_of_output(const std::vector<OutputShard>& shards) {
  Hash hash;
  for (const OutputShard& shard : shards) {
    hash.add(fmt::format("{}\n", shard.name));
    hash.add(shard.header);
    for (const OutputTensor& t : shard.tensors) {
      hash.add(
          fmt::format("{} {}\n", t.computed ? "computed" : "copied", static_cast<int>(t.output)));
    }
  }
  return hash.hex();
}

void set_type(OutputTensor& tensor, const safetensors::DType& dtype) {
  tensor.type = dtype.name;
  tensor.element = dtype.element;
}

std::string_view stem_of(std::string_view file) {
  for (const std::string_view stem : kStems) {
    if (!file.starts_with(stem)) continue;
    // "consolidated.fp8.safetensors" is a variant of "consolidated.safetensors".
    const std::string_view rest = file.substr(stem.size());
    if (rest.starts_with('.') || rest.starts_with('-')) return stem;
  }
  return kStem;
}

void name_shards(std::vector<OutputShard>& shards, std::string_view stem) {
  const size_t count = shards.size();
  for (size_t i = 0; i < count; ++i) {
    shards[i].name = count == 1 ? fmt::format("{}.safetensors", stem)
                                : fmt::format("{}-{:05}-of-{:05}.safetensors", stem, i + 1, count);
  }
}

Status check_names(const std::vector<OutputShard>& shards, std::string_view why) {
  for (const OutputShard& shard : shards) {
    if (is_utf8(shard.name)) continue;
    return failure(ErrorCode::unsupported, "{}: the name is no UTF-8, {}", escaped(shard.name),
                   why);
  }
  return {};
}

Status place(OutputShard& shard, const safetensors::NewMetadata& metadata) {
  std::vector<safetensors::NewTensor> tensors;
  tensors.reserve(shard.tensors.size());
  for (const OutputTensor& t : shard.tensors) {
    tensors.push_back(
        {std::string(t.name), safetensors::find_dtype(t.type), {t.shape.begin(), t.shape.end()}});
  }
  const auto made = safetensors::NewHeader::make(tensors, metadata);
  // A checkpoint that is one file gets its name later, and then there is no other file.
  if (!made) return shard.name.empty() ? made.error() : in(escaped(shard.name), made.error());
  const safetensors::NewHeader& header = *made;
  std::vector<OutputTensor> in_order;
  in_order.reserve(shard.tensors.size());
  for (const size_t i : header.order()) {
    in_order.push_back(shard.tensors[i]);
    in_order.back().offset = header.offset(i);
  }
  shard.tensors = std::move(in_order);
  shard.header = header.bytes();
  shard.bytes = header.file_size();
  return {};
}

std::string index_name(const std::vector<OutputShard>& shards) {
  return fmt::format("{}.safetensors.index.json", stem_of(shards.at(0).name));
}

std::string index_text(const std::vector<OutputShard>& shards) {
  int64_t total = 0;
  std::vector<std::pair<std::string_view, const std::string*>> files;
  for (const OutputShard& shard : shards) {
    for (const OutputTensor& t : shard.tensors) {
      files.emplace_back(t.name, &shard.name);
      total += t.bytes;
    }
  }
  std::sort(files.begin(), files.end());
  ordered_json map = ordered_json::object();
  // Names are different: a search for an equal key would only cost time.
  auto& members = map.get_ref<ordered_json::object_t&>();
  for (const auto& [tensor, file] : files) members.emplace_back(std::string(tensor), *file);
  return python_json({{"metadata", {{"total_size", total}}}, {"weight_map", std::move(map)}}) +
         "\n";
}

}  // namespace dequant::format::dense
