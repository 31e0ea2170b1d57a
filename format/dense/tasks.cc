// The tasks of a conversion.
#include "format/dense/tasks.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <queue>
#include <tuple>

#include "dequant/version.h"
#include "format/io/hash.h"
#include "format/model/chunks.h"
#include "format/model/code_bands.h"

namespace dequant::format::dense {
namespace {

/// Elements at whose multiples a tensor may be cut, at the least: readers of codes of less than 8
/// bits begin at whole bytes.
constexpr int64_t kAligned = 8;

/// The bytes at whose multiples a tensor may be cut; 0: nowhere.
int64_t step_of(Job& job, const OutputTensor& tensor, int64_t task_bytes) {
  if (!tensor.element || !is_output(*tensor.element) || tensor.shape.empty()) return 0;
  if (!job.sources().has_ranges(tensor)) return 0;
  const int64_t element_bytes = bits(*tensor.element) / 8;
  const int64_t count = tensor.bytes / element_bytes;
  if (count == 0) return 0;
  int64_t aligned = kAligned;
  if (tensor.computed) {
    const Plan plan = job.sources().plan(tensor);
    if (plan.parameters.x_blocks) aligned = std::lcm(aligned, plan.block);
  }
  const int64_t rows = std::lcm(aligned, count / std::max<int64_t>(tensor.shape[0], 1));
  return (rows * element_bytes <= task_bytes ? rows : aligned) * element_bytes;
}

/// Where the task that begins at `begin` ends, within or before this tensor, which ends behind
/// `begin` + `task_bytes`.
int64_t cut(Job& job, const OutputTensor& tensor, int64_t begin, int64_t task_bytes) {
  const int64_t end = tensor.offset + tensor.bytes + tensor.padding;
  const int64_t step = tensor.bytes > task_bytes ? step_of(job, tensor, task_bytes) : 0;
  int64_t at = tensor.offset;
  if (step > 0) {
    const int64_t steps = std::max<int64_t>((begin + task_bytes - at) / step, 0);
    at = tensor.offset + steps * step;
    if (at <= begin) at += step;
    return std::min(at, end);
  }
  return at > begin ? at : end;
}

void add_tasks(Job& job, size_t index, int64_t task_bytes, std::vector<Task>& tasks) {
  const OutputShard& shard = job.shards()[index];
  int64_t begin = 0;
  for (const OutputTensor& tensor : shard.tensors) {
    const int64_t end = tensor.offset + tensor.bytes + tensor.padding;
    while (end - begin > task_bytes) {
      const int64_t at = cut(job, tensor, begin, task_bytes);
      if (at >= end && end == shard.bytes) break;
      tasks.push_back({index, {begin, at}});
      begin = at;
    }
  }
  tasks.push_back({index, {begin, shard.bytes}});
}

/// The bytes from the first to the last that bands with these elements need.
Result<Range> bytes_of_bands(const CodeBands& bands, Range elements) {
  int64_t first = 0;
  for (int64_t end = bands.count(); first < end;) {
    const int64_t middle = first + (end - first) / 2;
    DEQUANT_TRY(const CodeBand band, bands.at(middle));
    if (band.elements.end <= elements.begin) {
      first = middle + 1;
    } else {
      end = middle;
    }
  }
  Range bytes{INT64_MAX, 0};
  for (int64_t i = first; i < bands.count(); ++i) {
    DEQUANT_TRY(const CodeBand band, bands.at(i));
    if (band.elements.begin >= elements.end) break;
    int64_t end = band.codes.begin + band.codes.length;
    for (const Runs::Step& step : band.codes.steps) end += (step.count - 1) * step.stride;
    bytes = {std::min(bytes.begin, band.codes.begin), std::max(bytes.end, end)};
  }
  return bytes;
}

/// The codes of a piece that is not the whole tensor.
Range part_of(const Plan& plan, const Piece& piece, const Source& codes) {
  // As for StreamOptions of the default memory; with less, chunks may read more.
  constexpr int64_t kChunk = int64_t{1} << 18, kMemory = int64_t{1} << 28;
  const int64_t element_bytes = bits(plan.output) / 8;
  const Range elements{piece.bytes.begin / element_bytes, piece.bytes.end / element_bytes};
  if (Chunks::holds_codes(plan, kChunk, kMemory)) {
    const auto bands = codes.bytes > kMemory ? CodeBands::of(plan, kMemory) : std::nullopt;
    if (!bands) return {0, codes.bytes};
    const auto bytes = bytes_of_bands(*bands, elements);
    return bytes ? Range{bytes->begin, std::min(bytes->end, codes.bytes)} : Range{0, codes.bytes};
  }
  const Range bytes = x_bytes_of(plan, slices_of(plan, elements).x);
  return {bytes.begin, std::min(bytes.end, codes.bytes)};
}

void add_reads(Job& job, const Piece& piece, std::vector<ReadRange>& reads) {
  const OutputTensor& tensor = *piece.tensor;
  const bool whole = piece.is_first() && piece.is_last();
  job.sources().for_each_source(tensor, [&](const Source& source) {
    Range part{0, source.bytes};
    if (!whole && source.in_order) {
      part = tensor.computed ? part_of(job.sources().plan(tensor), piece, source)
                             : stored_part(tensor, piece.bytes);
    }
    if (part.begin < part.end) {
      reads.push_back(
          {std::string(source.file), {source.offset + part.begin, source.offset + part.end}});
    }
  });
}

}  // namespace

std::vector<Task> tasks_of(Job& job, int64_t task_bytes) {
  std::vector<Task> tasks;
  for (size_t i = 0; i < job.shards().size(); ++i) add_tasks(job, i, task_bytes, tasks);
  return tasks;
}

std::vector<Piece> pieces_of(const OutputShard& shard, Range bytes) {
  std::vector<Piece> pieces;
  for (const OutputTensor& tensor : shard.tensors) {
    const int64_t end = tensor.offset + tensor.bytes;
    const Range own{std::max(bytes.begin, tensor.offset) - tensor.offset,
                    std::min(bytes.end, end) - tensor.offset};
    // A tensor without bytes, or its padding, belongs to the task with its offset.
    const bool here =
        tensor.bytes > 0 ? own.begin < own.end : bytes.begin <= end && end < bytes.end;
    if (here) pieces.push_back({&tensor, {own.begin, std::max(own.begin, own.end)}});
  }
  return pieces;
}

std::vector<size_t> share_of(const std::vector<Task>& tasks, int64_t index, int64_t count) {
  const auto bytes = [&](size_t i) { return tasks[i].bytes.end - tasks[i].bytes.begin; };
  std::vector<size_t> order(tasks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return bytes(a) > bytes(b); });
  // The longest task that is left goes to the share with the least bytes, of equal ones the first.
  using Load = std::pair<int64_t, int64_t>;
  std::priority_queue<Load, std::vector<Load>, std::greater<>> shares;
  const int64_t used = std::min(count, static_cast<int64_t>(tasks.size()));
  for (int64_t i = 0; i < used; ++i) shares.emplace(0, i);
  std::vector<size_t> own;
  for (const size_t task : order) {
    auto [load, share] = shares.top();
    shares.pop();
    if (share == index) own.push_back(task);
    shares.emplace(load + bytes(task), share);
  }
  std::sort(own.begin(), own.end());
  return own;
}

std::vector<ReadRange> reads_of(Job& job, const Task& task) {
  std::vector<ReadRange> reads;
  for (const Piece& piece : pieces_of(job.shards()[task.shard], task.bytes))
    add_reads(job, piece, reads);
  const auto key = [](const ReadRange& r) { return std::tie(r.file, r.bytes.begin, r.bytes.end); };
  std::sort(reads.begin(), reads.end(),
            [&](const ReadRange& a, const ReadRange& b) { return key(a) < key(b); });
  std::vector<ReadRange> merged;
  for (ReadRange& r : reads) {
    if (!merged.empty() && merged.back().file == r.file &&
        r.bytes.begin <= merged.back().bytes.end) {
      merged.back().bytes.end = std::max(merged.back().bytes.end, r.bytes.end);
    } else {
      merged.push_back(std::move(r));
    }
  }
  return merged;
}

Result<std::string> fingerprint_of(const Job& job, const std::vector<Task>& tasks) {
  DEQUANT_TRY(const std::string input, job.input_hash());
  Hash hash;
  hash.add(fmt::format("{}\n{}\n{}\n", DEQUANT_VERSION, input, hash_of_output(job.shards())));
  for (const Task& task : tasks)
    hash.add(fmt::format("{} {} {}\n", task.shard, task.bytes.begin, task.bytes.end));
  return hash.hex();
}

}  // namespace dequant::format::dense
