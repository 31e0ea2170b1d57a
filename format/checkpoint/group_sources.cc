// The groups of a checkpoint as sources of its dense tensors.
#include "format/checkpoint/group_sources.h"

#include <nlohmann/json.hpp>

#include "format/checkpoint/names.h"
#include "format/io/errors.h"
#include "format/io/hash.h"
#include "format/model/tensor.h"

namespace dequant::format::checkpoint {

Plan GroupSources::plan(const OutputTensor& tensor) const {
  const Group& group = group_of(tensor);
  return plan_for(group.plan, group.variants, tensor.output);
}

std::string_view GroupSources::scheme(const OutputTensor& tensor) const {
  return group_of(tensor).scheme;
}

Result<RecipeReaders> GroupSources::open(const OutputTensor& tensor, int64_t memory) {
  const Group& group = group_of(tensor);
  DEQUANT_TRY(RecipeReaders readers, open_inputs(shards_, group, memory));
  scales_.watch(group, readers);
  return readers;
}

Status GroupSources::complete(const OutputTensor& tensor, int64_t memory) {
  return scales_.finish(group_of(tensor), memory);
}

Status GroupSources::read(const OutputTensor& tensor, Range bytes, const PartVisitor& visit,
                          Phases* phases) {
  const Entry& entry = entry_of(tensor);
  return read_in_parts(shards_.file_of(entry).file, entry.tensor->offset + bytes.begin,
                       bytes.end - bytes.begin, visit, phases);
}

void GroupSources::for_each_source(const OutputTensor& tensor,
                                   const std::function<void(const dense::Source&)>& visit) const {
  const Entry* in_order = tensor.computed ? group_of(tensor).codes.entry : &entry_of(tensor);
  const auto pass = [&](const Entry& entry) {
    const Shard& shard = shards_.file_of(entry);
    visit({entry.name(), shard.name, &shard.file, entry.tensor->offset, entry.tensor->bytes,
           &entry == in_order});
  };
  if (tensor.computed) return for_each_entry(group_of(tensor), pass);
  pass(entry_of(tensor));
}

Result<std::string> hash_of_input(const Groups& groups, bool times) {
  Hash hash;
  for (const Shard& shard : groups.shards().files()) {
    const FileIdentity& identity = shard.file.identity();
    hash.add(fmt::format("{}\n{} {}\n", shard.name, identity.size,
                         times ? identity.changed_ns : int64_t{0}));
    std::vector<Range> data;
    for (const auto& t : shard.header.tensors()) data.push_back({t.offset, t.offset + t.bytes});
    DEQUANT_CHECK(add_structure(hash, shard.file, std::move(data)));
  }
  const Config& config = groups.config();
  const auto add = [&](const nlohmann::ordered_json& document) {
    hash.add(document.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  };
  add(config.document());
  for (const std::string_view name : kQuantizationFiles) {
    if (const auto* document = config.file(name)) add(*document);
  }
  return hash.hex();
}

}  // namespace dequant::format::checkpoint
