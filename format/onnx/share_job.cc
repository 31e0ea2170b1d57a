// The data file of a converted ONNX model, written in shares.
#include "format/onnx/share_job.h"

#include <algorithm>
#include <filesystem>

#include "format/io/hash.h"
#include "format/onnx/constant_reader.h"
#include "format/onnx/inputs.h"

namespace dequant::format::onnx {
namespace {

using dense::OutputShard;
using dense::OutputTensor;

/// Bytes of a tensor in the model that identify it, with all bytes that are no tensors' data.
constexpr int64_t kMostHashed = int64_t{1} << 20;

const Dequantization& dequantization_of(const OutputTensor& tensor) {
  return static_cast<const Fold*>(tensor.origin)->dequantization;
}

const Survivor& survivor_of(const OutputTensor& tensor) {
  return *static_cast<const Survivor*>(tensor.origin);
}

/// True where any range of the constant can be read by itself.
bool is_stored(const Constant& c) {
  return c.tensor != nullptr &&
         (c.tensor->external != nullptr || c.tensor->data == DataField::raw_data);
}

template <class Visit>
void for_each_constant(const Dequantization& d, Visit visit) {
  visit(d.x);
  d.for_each_parameter(visit);
}

}  // namespace

ShareJob::ShareJob(const DataFile& data, const Pieces& model, std::function<Status()> write)
    : data_(data), pieces_(model), write_(std::move(write)) {
  if (!data.location.empty()) add_tensors();
}

void ShareJob::add_tensors() {
  OutputShard& shard = shards_.emplace_back();
  shard.name = data_.location;
  shard.bytes = data_.bytes;
  for (size_t i = 0; i < data_.folds.size(); ++i) {
    const Fold& fold = data_.folds[i];
    if (!data_.ranges[i] || fold.bytes == 0) continue;
    const Element output = fold.dequantization.plan.output;
    shard.tensors.push_back({.name = fold.dequantization.node->output(0),
                             .origin = &fold,
                             .computed = true,
                             .output = output,
                             .element = output,
                             .shape = fold.dequantization.shape(),
                             .bytes = fold.bytes,
                             .offset = data_.ranges[i]->offset});
  }
  for (const Survivor& s : data_.survivors.all()) {
    if (s.bytes == 0) continue;
    const auto element = element_from_onnx(s.tensor->data_type);
    const bool is_float = element && is_output(*element);
    shard.tensors.push_back({.name = s.tensor->name,
                             .origin = &s,
                             .element = is_float ? element : std::nullopt,
                             .shape = s.tensor->dims,
                             .bytes = s.bytes,
                             .offset = s.range.offset});
  }
  for (size_t i = 0; i + 1 < shard.tensors.size(); ++i) {
    OutputTensor& t = shard.tensors[i];
    t.padding = shard.tensors[i + 1].offset - t.offset - t.bytes;
  }
}

std::string ShareJob::path_of(const OutputShard& shard, const std::string& output) const {
  return fmt::format("{}/{}", folder_of(output), shard.name);
}

std::vector<std::string> ShareJob::names(const std::string& output) const {
  std::vector<std::string> all = Job::names(output);
  all.push_back(output);
  return all;
}

Result<std::string> ShareJob::input_hash() const {
  Hash hash;
  const InputFile& file = data_.model.source.file();
  hash.add(fmt::format("{}\n", file.size()));
  // A node that is folded is no part of the output, and decides on the numbers.
  std::vector<Range> data;
  for_each_tensor(data_.scopes, [&](const Tensor& t) {
    data.push_back({t.raw.begin + std::min(t.raw.size(), kMostHashed), t.raw.end});
  });
  DEQUANT_CHECK(add_structure(hash, file, std::move(data)));
  for (const Piece& p : pieces_) {
    const auto* text = std::get_if<std::string>(&p);
    hash.add(text ? *text : fmt::format("{} {}\n", p.index(), size_of(p)));
  }
  for (const OutputShard& shard : shards_) {
    for (const OutputTensor& t : shard.tensors) {
      for_each_source(t, [&](const dense::Source& s) {
        hash.add(fmt::format("{}\n{} {} {}\n", s.file, s.offset, s.bytes, s.input->size()));
      });
    }
  }
  return hash.hex();
}

Status ShareJob::check_unchanged() const { return data_.model.source.file().check_unchanged(); }

Plan ShareJob::plan(const OutputTensor& tensor) const { return dequantization_of(tensor).plan; }

bool ShareJob::has_ranges(const OutputTensor& tensor) const {
  if (!tensor.computed) return true;
  bool all = true;
  for_each_constant(dequantization_of(tensor),
                    [&](const Constant& c) { all = all && is_stored(c); });
  return all;
}

Result<RecipeReaders> ShareJob::open(const OutputTensor& tensor, int64_t memory) {
  return open_inputs(data_.model, data_.files, dequantization_of(tensor), memory);
}

Status ShareJob::read(const OutputTensor& tensor, Range bytes, const PartVisitor& visit,
                      Phases* phases) {
  const External& external = *survivor_of(tensor).tensor->external;
  DEQUANT_TRY(const auto file, data_.files.open(external.location.str()));
  DEQUANT_CHECK(
      read_in_parts(*file, external.offset + bytes.begin, bytes.end - bytes.begin, visit, phases));
  return file->check_unchanged();
}

void ShareJob::for_each_source(const OutputTensor& tensor,
                               const std::function<void(const dense::Source&)>& visit) const {
  const auto pass = [&](const Tensor& t, int64_t bytes, bool in_order) {
    const InputFile& model = data_.model.source.file();
    if (t.external == nullptr) {
      return visit({t.name, std::filesystem::path(model.name()).filename().string(), &model,
                    t.raw.begin, t.raw.size(), in_order});
    }
    const std::string location = t.external->location.str();
    if (const auto file = data_.files.open(location))
      visit({t.name, location, file->get(), t.external->offset, bytes, in_order});
  };
  if (!tensor.computed) {
    const Survivor& s = survivor_of(tensor);
    return pass(*s.tensor, s.bytes, true);
  }
  const Dequantization& d = dequantization_of(tensor);
  for_each_constant(d, [&](const Constant& c) {
    if (is_stored(c)) pass(*c.tensor, stored_bytes(c), &c == &d.x);
  });
}

}  // namespace dequant::format::onnx
