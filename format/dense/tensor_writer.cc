// Writing the tensors of a dense model.
#include "format/dense/tensor_writer.h"

#include <algorithm>
#include <mutex>
#include <optional>

#include "format/io/errors.h"
#include "format/io/hash.h"
#include "format/json/json.h"
#include "format/model/floats.h"
#include "format/model/overflows.h"
#include "format/model/plan_words.h"
#include "format/model/value_counts.h"

namespace dequant::format::dense {
namespace {

using nlohmann::ordered_json;

size_t bytes_of(Element element) { return static_cast<size_t>(bits(element)) / 8; }

template <class T>
ordered_json or_null(const std::optional<T>& value) {
  return value ? ordered_json(*value) : ordered_json();
}

ordered_json recipe_of(const OutputTensor& t, const Sources& sources) {
  if (!t.computed) {
    if (t.change.empty()) return t.from ? "rounded" : "copied";
    return t.from ? fmt::format("{} and rounded", t.change) : std::string(t.change);
  }
  const Plan plan = sources.plan(t);
  ordered_json recipe{{"scheme", sources.scheme(t)},
                      {"stored", stored_type(plan)},
                      {"granularity", granularity_key(plan)}};
  if (!t.change.empty()) recipe["change"] = t.change;
  return recipe;
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

Result<OutputFile> TensorWriter::fill(const OutputShard& shard, const std::string& path,
                                      Overwrite overwrite) {
  DEQUANT_TRY(OutputFile out, OutputFile::create(path, overwrite));
  {
    const Stopwatch watch(stream_.phases, &Phases::write);
    DEQUANT_CHECK(out.reserve(shard.bytes));
  }
  DEQUANT_CHECK(out.write(shard.header));
  out.leave(shard.bytes - out.size());
  const OffsetSink sink = writes_.to(out);
  for (const OutputTensor& tensor : shard.tensors) {
    auto status = audit_ == nullptr ? write_piece(sink, {&tensor, {0, tensor.bytes}})
                                    : write_audited(sink, tensor, shard.name);
    if (status) status = write_padding(sink, tensor);
    DEQUANT_CHECK(explained(tensor, std::move(status)));
  }
  {
    const Stopwatch watch(stream_.phases, &Phases::flush);
    DEQUANT_CHECK(out.flush());
  }
  // Counted last, so that the last call of progress comes after the long part of the flush.
  DEQUANT_CHECK(done_.add(static_cast<int64_t>(shard.header.size())));
  return out;
}

Status TensorWriter::write(const OutputShard& shard, const std::string& path, Overwrite overwrite,
                           const std::function<Status()>& before) {
  DEQUANT_TRY(OutputFile out, fill(shard, path, overwrite));
  if (before) DEQUANT_CHECK(before());
  return commit(out);
}

Status TensorWriter::commit(OutputFile& out) const {
  const Stopwatch watch(stream_.phases, &Phases::flush);
  return out.commit();
}

Status TensorWriter::write_part(const OutputShard& shard, Range bytes, SharedFile& file,
                                ValueRange& values) {
  {
    const Stopwatch watch(stream_.phases, &Phases::write);
    DEQUANT_CHECK(file.reserve(bytes));
  }
  const OffsetSink sink = writes_.to(file);
  if (bytes.begin == 0) DEQUANT_CHECK(sink(0, std::as_bytes(std::span(shard.header))));
  std::mutex adding;
  for (const Piece& piece : pieces_of(shard, bytes)) {
    const OutputTensor& tensor = *piece.tensor;
    const bool is_float = tensor.element && is_output(*tensor.element);
    const OffsetSink counted = [&](int64_t at, std::span<const std::byte> part) {
      ValueRange own;
      own.add(*tensor.element, part);
      {
        const std::lock_guard lock(adding);
        values.add(own);
      }
      return sink(at, part);
    };
    auto status = write_piece(is_float ? counted : sink, piece);
    if (status && piece.is_last()) status = write_padding(sink, tensor);
    DEQUANT_CHECK(explained(tensor, std::move(status)));
  }
  const Stopwatch watch(stream_.phases, &Phases::flush);
  return file.flush();
}

/// The error of a tensor, which names the tensor or the file.
Status TensorWriter::explained(const OutputTensor& tensor, Status status) const {
  if (done_.stopped()) return *done_.stopped();
  if (status || status.error().code == ErrorCode::io) return status;
  return in(fmt::format("tensor {}", escaped(tensor.name)), std::move(status).error());
}

Status TensorWriter::skip(const OutputShard& shard) {
  for (const OutputTensor& tensor : shard.tensors) {
    if (tensor.computed) DEQUANT_CHECK(sources_.complete(tensor, parameter_memory(stream_)));
  }
  return done_.add(shard.bytes);
}

/// Passes bytes of the tensor to the sink of its file.
OffsetSink TensorWriter::sink_of(const OutputTensor& tensor, const OffsetSink& out) const {
  OffsetSink sink = [&](int64_t offset, std::span<const std::byte> bytes) {
    return out(tensor.offset + offset, bytes);
  };
  const bool is_new = tensor.computed || tensor.from;
  return is_new ? counted(stream_, tensor.name, tensor.output, std::move(sink)) : sink;
}

Status TensorWriter::write_piece(const OffsetSink& out, const Piece& piece) {
  const OutputTensor& tensor = *piece.tensor;
  const OffsetSink sink = sink_of(tensor, out);
  if (!tensor.computed) return copy(piece, sink);
  DEQUANT_TRY(RecipeReaders readers, sources_.open(tensor, parameter_memory(stream_)));
  const auto element_bytes = static_cast<int64_t>(bytes_of(tensor.output));
  const Range elements{piece.bytes.begin / element_bytes, piece.bytes.end / element_bytes};
  DEQUANT_CHECK(scatter_.run(sources_.plan(tensor), std::move(readers), elements, sink));
  if (!piece.is_first()) return {};  // the task with the first piece reports the tensor
  return sources_.complete(tensor, parameter_memory(stream_));
}

Status TensorWriter::write_padding(const OffsetSink& out, const OutputTensor& tensor) {
  if (tensor.padding == 0) return {};
  const std::vector<std::byte> zeros(static_cast<size_t>(tensor.padding));
  return out(tensor.offset + tensor.bytes, zeros);
}

/// The same from front to back, as a hash needs the bytes.
Status TensorWriter::write_audited(const OffsetSink& out, const OutputTensor& tensor,
                                   const std::string& file) {
  Hash hash;
  std::optional<ValueCounts> values;
  if (tensor.element && is_output(*tensor.element)) values.emplace(*tensor.element);
  int64_t done = 0;
  const OffsetSink own = sink_of(tensor, out);
  const Sink sink = [&](std::span<const std::byte> bytes) -> Status {
    hash.add(bytes);
    if (values) values->add(bytes);
    DEQUANT_CHECK(own(done, bytes));
    done += static_cast<int64_t>(bytes.size());
    return {};
  };
  if (!tensor.computed) {
    DEQUANT_CHECK(copy({&tensor, {0, tensor.bytes}},
                       [&](int64_t, std::span<const std::byte> bytes) { return sink(bytes); }));
  } else {
    DEQUANT_TRY(RecipeReaders readers, sources_.open(tensor, parameter_memory(stream_)));
    DEQUANT_CHECK(stream(sources_.plan(tensor), std::move(readers), stream_, sink));
    DEQUANT_CHECK(sources_.complete(tensor, parameter_memory(stream_)));
  }
  DEQUANT_TRY(ordered_json from, sources(tensor));
  return audit_->add({{"name", tensor.name},
                      {"file", file},
                      {"dtype", tensor.type},
                      {"shape", std::vector<int64_t>(tensor.shape.begin(), tensor.shape.end())},
                      {"bytes", tensor.bytes},
                      {"xxh3_128", hash.hex()},
                      {"recipe", recipe_of(tensor, sources_)},
                      {"sources", std::move(from)},
                      {"values", values ? values_of(*values) : ordered_json()}});
}

Result<ordered_json> TensorWriter::sources(const OutputTensor& tensor) const {
  ordered_json out = ordered_json::array();
  Status status;
  sources_.for_each_source(tensor, [&](const Source& source) {
    if (!status) return;
    auto hash = hash_of(*source.input, source.offset, source.bytes);
    if (!hash) {
      status = hash.error();
      return;
    }
    out.push_back({{"name", source.name},
                   {"file", source.file},
                   {"bytes", source.bytes},
                   {"xxh3_128", *hash}});
  });
  DEQUANT_CHECK(std::move(status));
  return out;
}

/// Passes the bytes of a tensor that is not computed to the sink, from front to back; floats that
/// get another type are rounded.
Status TensorWriter::copy(const Piece& piece, const OffsetSink& sink) {
  const OutputTensor& tensor = *piece.tensor;
  int64_t written = piece.bytes.begin;
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
  return sources_.read(tensor, stored_part(tensor, piece.bytes), pass, stream_.phases);
}

Status write_with_audit(Sources& sources, const StreamOptions& stream, const Options& own,
                        const WriteOptions& options, int64_t bytes,
                        const std::function<Status(TensorWriter&)>& write) {
  Done done(options.progress, bytes);
  std::optional<AuditWriter> audit;
  if (!own.audit.empty()) {
    DEQUANT_TRY(AuditWriter created, AuditWriter::create(own.audit, options.overwrite));
    audit.emplace(std::move(created));
  }
  TensorWriter tensors(sources, stream, done, audit ? &*audit : nullptr);
  DEQUANT_CHECK(write(tensors));
  return audit ? audit->commit() : Status();
}

}  // namespace dequant::format::dense
