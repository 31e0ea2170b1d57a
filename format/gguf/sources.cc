// The parts of a GGUF model as sources of its dense tensors.
#include "format/gguf/sources.h"

#include <algorithm>

#include "format/io/hash.h"
#include "format/model/tensor.h"

namespace dequant::format::gguf {

using dense::OutputTensor;

Plan PartSources::plan(const OutputTensor& tensor) const {
  return plan_for(blocks_of(tensor).plan, {}, tensor.output);
}

std::string_view PartSources::scheme(const OutputTensor& tensor) const {
  return blocks_of(tensor).entry->type().name;
}

Result<RecipeReaders> PartSources::open(const OutputTensor& tensor, int64_t) {
  const Blocks& blocks = blocks_of(tensor);
  RecipeReaders readers;
  readers.codes = open_entry(parts_, *blocks.entry);
  if (blocks.scale != nullptr) readers.tensor_scale = open_entry(parts_, *blocks.scale);
  return readers;
}

Status PartSources::read(const OutputTensor& tensor, Range bytes, const PartVisitor& visit,
                         Phases* phases) {
  constexpr int64_t kStep = int64_t{1} << 18;  // elements
  const auto reader = open_entry(parts_, entry_of(tensor));
  const int64_t width = bits(reader->element()) / 8;
  std::vector<std::byte> part;
  for (Range next{bytes.begin / width, 0}; next.begin < bytes.end / width; next.begin = next.end) {
    next.end = std::min(next.begin + kStep, bytes.end / width);
    part.resize(static_cast<size_t>((next.end - next.begin) * width));
    {
      const Stopwatch watch(phases, &Phases::read);
      DEQUANT_CHECK(reader->read_at(next, part));
    }
    DEQUANT_CHECK(visit(part));
  }
  return reader->finish();
}

void PartSources::for_each_source(const OutputTensor& tensor,
                                  const std::function<void(const dense::Source&)>& visit) const {
  const auto pass = [&](const Entry& entry) {
    const Part& part = parts_.part_of(entry);
    const bool is_scale = tensor.computed && &entry == blocks_of(tensor).scale;
    visit({entry.tensor->name, part.name, &part.file, entry.offset(), entry.bytes(),
           !is_scale && entry.is_stored()});
  };
  pass(tensor.computed ? *blocks_of(tensor).entry : entry_of(tensor));
  if (tensor.computed && blocks_of(tensor).scale != nullptr) pass(*blocks_of(tensor).scale);
}

std::string hash_of_input(const Parts& parts, bool times) {
  Hash hash;
  for (const Part& part : parts.files()) {
    const FileIdentity& identity = part.file.identity();
    hash.add(fmt::format("{}\n{} {}\n", part.name, identity.size,
                         times ? identity.changed_ns : int64_t{0}));
    for (const Tensor& t : part.header.tensors())
      hash.add(fmt::format("{}\n{} {} {}\n", t.name, t.type->name, t.offset, t.bytes));
  }
  return hash.hex();
}

}  // namespace dequant::format::gguf
