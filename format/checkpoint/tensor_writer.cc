// Writing the tensors of a dense checkpoint.
#include "format/checkpoint/tensor_writer.h"

#include <algorithm>

#include "format/io/errors.h"
#include "format/io/hash.h"
#include "format/json/json.h"
#include "format/model/floats.h"
#include "format/model/plan_words.h"
#include "format/model/tensor.h"
#include "format/model/value_counts.h"

namespace dequant::format::checkpoint {
namespace {

using nlohmann::ordered_json;

size_t bytes_of(Element element) { return static_cast<size_t>(bits(element)) / 8; }

template <class T>
ordered_json or_null(const std::optional<T>& value) {
  return value ? ordered_json(*value) : ordered_json();
}

/// Calls visit(const Entry&) for the stored tensors of a tensor of the output.
template <class Visit>
void for_each_source(const OutputTensor& tensor, Visit visit) {
  if (tensor.group == nullptr) return visit(*tensor.entry);
  for_each_entry(*tensor.group, visit);
}

ordered_json recipe_of(const OutputTensor& t) {
  if (t.group == nullptr) return t.from ? ordered_json("rounded") : ordered_json("copied");
  return {{"scheme", t.group->scheme},
          {"stored", name(t.group->plan.input)},
          {"granularity", granularity_key(t.group->plan)}};
}

ordered_json values_of(const ValueCounts& v) {
  return {{"nan", v.nan()},
          {"infinity", v.infinity()},
          {"zero", v.zero()},
          {"minimum", or_null(v.minimum())},
          {"maximum", or_null(v.maximum())},
          {"mean_magnitude", or_null(v.mean_magnitude())}};
}

}  // namespace

Status Done::add(int64_t bytes) {
  done_ += bytes;
  if (!progress_) return {};
  auto status = progress_(done_, total_);
  if (!status) stopped_ = status.error();
  return status;
}

Status TensorWriter::write(const OutputShard& shard, const std::string& path, Overwrite overwrite) {
  DEQUANT_TRY(OutputFile out, OutputFile::create(path, overwrite));
  {
    const Stopwatch watch(stream_.phases, &Phases::write);
    DEQUANT_CHECK(out.reserve(shard.bytes));
  }
  DEQUANT_CHECK(out.write(shard.header));
  DEQUANT_CHECK(done_.add(static_cast<int64_t>(shard.header.size())));
  out.leave(shard.bytes - out.size());
  for (const OutputTensor& tensor : shard.tensors) {
    auto status =
        audit_ == nullptr ? write_tensor(out, tensor) : write_audited(out, tensor, shard.name);
    if (done_.stopped()) return *done_.stopped();
    if (status) continue;
    if (status.error().code == ErrorCode::io) return status;  // it names the file
    return in(fmt::format("tensor {}", escaped(tensor.name)), std::move(status).error());
  }
  const Stopwatch watch(stream_.phases, &Phases::flush);
  return out.commit();
}

Status TensorWriter::count_scales(const OutputShard& shard) {
  for (const OutputTensor& tensor : shard.tensors) {
    if (tensor.group != nullptr)
      DEQUANT_CHECK(scales_.finish(*tensor.group, parameter_memory(stream_)));
  }
  return {};
}

Result<RecipeReaders> TensorWriter::open(const Group& group) {
  DEQUANT_TRY(RecipeReaders readers, open_inputs(shards_, group, parameter_memory(stream_)));
  scales_.watch(group, readers);
  return readers;
}

Status TensorWriter::write_tensor(OutputFile& out, const OutputTensor& tensor) {
  const OffsetSink sink = [&](int64_t offset, std::span<const std::byte> bytes) {
    return write_at(out, tensor.offset + offset, bytes);
  };
  if (tensor.group == nullptr) return copy(tensor, sink);
  const Group& group = *tensor.group;
  DEQUANT_TRY(RecipeReaders readers, open(group));
  DEQUANT_CHECK(
      scatter_.run(plan_for(group.plan, group.variants, tensor.output), std::move(readers), sink));
  return scales_.finish(group, parameter_memory(stream_));
}

/// The same from front to back, as a hash needs the bytes.
Status TensorWriter::write_audited(OutputFile& out, const OutputTensor& tensor,
                                   const std::string& file) {
  Hash hash;
  std::optional<ValueCounts> values;
  const auto element = tensor.dtype->element;
  if (element && is_output(*element)) values.emplace(*element);
  int64_t done = 0;
  const Sink sink = [&](std::span<const std::byte> bytes) -> Status {
    hash.add(bytes);
    if (values) values->add(bytes);
    DEQUANT_CHECK(write_at(out, tensor.offset + done, bytes));
    done += static_cast<int64_t>(bytes.size());
    return {};
  };
  if (tensor.group == nullptr) {
    DEQUANT_CHECK(
        copy(tensor, [&](int64_t, std::span<const std::byte> bytes) { return sink(bytes); }));
  } else {
    const Group& group = *tensor.group;
    DEQUANT_TRY(RecipeReaders readers, open(group));
    DEQUANT_CHECK(stream(plan_for(group.plan, group.variants, tensor.output), std::move(readers),
                         stream_, sink));
    DEQUANT_CHECK(scales_.finish(group, parameter_memory(stream_)));
  }
  DEQUANT_TRY(ordered_json from, sources(tensor));
  return audit_->add({{"name", tensor.name},
                      {"file", file},
                      {"dtype", tensor.dtype->name},
                      {"shape", std::vector<int64_t>(tensor.shape.begin(), tensor.shape.end())},
                      {"bytes", tensor.bytes},
                      {"xxh3_128", hash.hex()},
                      {"recipe", recipe_of(tensor)},
                      {"sources", std::move(from)},
                      {"values", values ? values_of(*values) : ordered_json()}});
}

Result<ordered_json> TensorWriter::sources(const OutputTensor& tensor) const {
  ordered_json out = ordered_json::array();
  Status status;
  for_each_source(tensor, [&](const Entry& entry) {
    if (!status) return;
    const Shard& shard = shards_.file_of(entry);
    auto hash = hash_of(shard.file, entry.tensor->offset, entry.tensor->bytes);
    if (!hash) {
      status = hash.error();
      return;
    }
    out.push_back({{"name", entry.name()},
                   {"file", shard.name},
                   {"bytes", entry.tensor->bytes},
                   {"xxh3_128", *hash}});
  });
  DEQUANT_CHECK(std::move(status));
  return out;
}

/// Passes the bytes of a tensor without a group to the sink, from front to back; floats that get
/// another type are rounded.
Status TensorWriter::copy(const OutputTensor& tensor, const OffsetSink& sink) {
  const Entry& entry = *tensor.entry;
  int64_t written = 0;
  const auto pass = [&](std::span<const std::byte> part) -> Status {
    std::span<const std::byte> bytes = part;
    if (tensor.from) {
      floats_.resize(part.size() / bytes_of(*tensor.from));
      rounded_.resize(floats_.size() * bytes_of(tensor.output));
      widen(*tensor.from, part, floats_);
      narrow(tensor.output, floats_, rounded_);
      bytes = rounded_;
    }
    DEQUANT_CHECK(sink(written, bytes));
    written += static_cast<int64_t>(bytes.size());
    return {};
  };
  return read_in_parts(shards_.file_of(entry).file, entry.tensor->offset, entry.tensor->bytes, pass,
                       stream_.phases);
}

/// A file accepts one write at a time. Threads that wait in the file system may spin on processors
/// that are needed to dequantize, so they wait here.
Status TensorWriter::write_at(OutputFile& out, int64_t at, std::span<const std::byte> bytes) {
  const auto size = static_cast<int64_t>(bytes.size());
  {
    const std::lock_guard lock(writing_);
    const Stopwatch watch(stream_.phases, &Phases::write);
    DEQUANT_CHECK(out.write_at(at, bytes));
    DEQUANT_CHECK(done_.add(size));
  }
  const Stopwatch watch(stream_.phases, &Phases::flush);
  out.start_flush(at, at + size);
  return {};
}

}  // namespace dequant::format::checkpoint
