// Writing a dense checkpoint, file by file.
#include "format/checkpoint/write.h"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <mutex>

#include "format/checkpoint/layout.h"
#include "format/checkpoint/names.h"
#include "format/checkpoint/other_files.h"
#include "format/io/errors.h"
#include "format/json/json.h"
#include "format/model/distinct_bytes.h"

namespace dequant::format::checkpoint {
namespace {

using nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

/// Bytes that are copied at once.
constexpr int64_t kCopyBytes = int64_t{1} << 20;

double seconds(int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e9; }

/// The name of the index that belongs to "model.safetensors".
std::string index_name() { return fmt::format("model{}", kIndex); }

ordered_json index_of(const Layout& layout) {
  std::vector<std::pair<std::string_view, const std::string*>> files;
  for (const OutputShard& shard : layout.shards) {
    for (const OutputTensor& t : shard.tensors) files.emplace_back(t.name, &shard.name);
  }
  std::sort(files.begin(), files.end());
  ordered_json map = ordered_json::object();
  // Names are different: a search for an equal key would only cost time.
  auto& members = map.get_ref<ordered_json::object_t&>();
  for (const auto& [tensor, file] : files) members.emplace_back(std::string(tensor), *file);
  return {{"metadata", {{"total_size", layout.tensor_bytes}}}, {"weight_map", std::move(map)}};
}

class Writer {
 public:
  Writer(ModelFile& file, const Groups& groups, const Options& own, const std::string& output,
         const WriteOptions& options)
      : file_(file),
        groups_(groups),
        own_(own),
        output_(output),
        options_(options),
        stream_(options.stream),
        scatter_(stream_) {
    stream_.phases = &phases_;
  }

  Result<ConvertReport> write() {
    const auto started = Clock::now();
    DEQUANT_CHECK(check_dtype());
    DEQUANT_TRY(layout_, plan_layout(groups_, own_, options_));
    if (is_folder()) {
      DEQUANT_TRY(others_, other_files(groups_.shards()));
    }
    ConvertReport report;
    DEQUANT_CHECK(describe(report));
    report.seconds.decide = std::chrono::duration<double>(Clock::now() - started).count();
    if (!options_.dry_run) DEQUANT_CHECK(is_folder() ? write_folder() : write_file());
    report.seconds.read = seconds(phases_.read);
    report.seconds.dequantize = seconds(phases_.dequantize);
    report.seconds.write = seconds(phases_.write);
    report.seconds.flush = seconds(phases_.flush);
    return report;
  }

 private:
  bool is_folder() const { return groups_.shards().is_folder(); }
  std::string path_of(const std::string& name) const { return fmt::format("{}/{}", output_, name); }

  Status check_dtype() const {
    if (options_.dtype || !groups_.asks_for_dtype()) return {};
    return failure(ErrorCode::unsupported,
                   "neither config.json nor the type of the scales says which type the dense "
                   "tensors have: give dtype");
  }

  /// The type that the model computes in, for config.json.
  Element computing_dtype() const {
    if (options_.dtype) return *options_.dtype;
    for (const Group& group : groups_.groups()) return group.plan.output;
    return groups_.config().dtype().value_or(Element::float32);
  }

  Status describe(ConvertReport& report) {
    DistinctBytes distinct;
    for (const OutputShard& shard : layout_.shards) {
      total_ += shard.bytes;
      report.bytes_out += shard.bytes;
      for (const OutputTensor& t : shard.tensors) {
        if (t.group == nullptr) continue;
        const Group& g = *t.group;
        Plan plan = plan_for(g.plan, g.variants, t.output);
        int64_t before = 0;
        int64_t first = 0;
        for_each_entry(g, [&](const Entry& entry) {
          before += entry.tensor->bytes;
          first += distinct.add(&entry, entry.tensor->bytes);
        });
        report.converted.push_back({"", std::string(g.scheme), g.name, g.name,
                                    std::string(g.codes.entry->name()), std::move(plan), g.axis,
                                    g.shape, before, first, t.bytes});
      }
    }
    for (const Group* group : layout_.not_selected) {
      report.left.push_back(
          {"", "", std::string(group->scheme), group->name, "not selected by include and exclude"});
    }
    for (const Entry* entry : groups_.unknown()) {
      report.left.push_back(
          {"", "", "", std::string(entry->name()), "nothing says how it is quantized"});
    }
    if (!groups_.unknown().empty()) {
      report.warnings.push_back(
          fmt::format("{} quantized tensors are copied as they are, as nothing says how to "
                      "dequantize them: the "
                      "first is {}",
                      groups_.unknown().size(), escaped(groups_.unknown()[0]->name())));
    }
    DEQUANT_TRY(const Warnings warnings, groups_.warnings());
    for (const std::string& warning : warnings.sentences()) report.warnings.push_back(warning);
    for (const Dropped& dropped : groups_.dropped()) {
      report.dropped.push_back({std::string(dropped.entry->name()), std::string(dropped.reason)});
    }
    for (const OtherFile& other : others_.copied) report.files_copied.push_back(other.name);
    report.files_left_out = others_.left_out;
    report.bytes_in = groups_.shards().bytes();
    if (!options_.require_float || report.left.empty()) return {};
    return failure(ErrorCode::unsupported, "{}: {} tensors would stay quantized, the first is {}",
                   escaped(file_.path()), report.left.size(), escaped(report.left[0].name));
  }

  // Files.

  Status write_file() {
    DEQUANT_CHECK(write_shard(layout_.shards.at(0), output_));
    return groups_.shards().check_unchanged();
  }

  Status write_folder() {
    DEQUANT_CHECK(make_folder());
    DEQUANT_CHECK(check_room());
    for (const OutputShard& shard : layout_.shards)
      DEQUANT_CHECK(write_shard(shard, path_of(shard.name)));
    for (const OtherFile& other : others_.copied) DEQUANT_CHECK(copy_file(other));
    DEQUANT_CHECK(groups_.shards().check_unchanged());
    if (layout_.shards.size() > 1 || !groups_.shards().index().empty())
      DEQUANT_CHECK(write_json(index_name(), index_of(layout_)));
    if (groups_.config().document().is_null()) return {};
    const bool all = layout_.not_selected.empty() && groups_.unknown().empty();
    return write_json(std::string(kConfig), all ? groups_.config().dense(computing_dtype())
                                                : groups_.config().document());
  }

  /// Makes the folder, or demands that it has nothing of another checkpoint.
  Status make_folder() {
    if (::mkdir(output_.c_str(), 0777) == 0) return {};
    if (errno != EEXIST) return io_error("cannot make the folder {}", escaped(output_));
    std::error_code e;
    for (std::filesystem::directory_iterator at(output_, e), end; !e && at != end;
         at.increment(e)) {
      const std::string name = at->path().filename().string();
      if (options_.overwrite == Overwrite::refuse) {
        return failure(ErrorCode::io, "{} exists and is not empty; --force writes into it",
                       escaped(output_));
      }
      if (!is_weight(name) || is_ours(name)) continue;
      return failure(ErrorCode::io, "{} has {}, which is no file of this checkpoint: remove it",
                     escaped(output_), escaped(name));
    }
    if (e) return failure(ErrorCode::io, "{}: {}", escaped(output_), e.message());
    return {};
  }

  bool is_ours(const std::string& name) const {
    for (const OutputShard& shard : layout_.shards) {
      if (shard.name == name) return true;
    }
    return name == index_name() && layout_.shards.size() > 1;
  }

  Status check_room() const {
    struct statvfs s {};
    if (::statvfs(output_.c_str(), &s) != 0) return io_error("{}", escaped(output_));
    int64_t needed = total_;
    for (const OtherFile& other : others_.copied) needed += other.bytes;
    const auto room = static_cast<uint64_t>(s.f_bavail) * s.f_frsize;
    if (static_cast<uint64_t>(needed) <= room) return {};
    return failure(ErrorCode::io, "{}: {} bytes are needed and {} are free", escaped(output_),
                   needed, room);
  }

  Status write_json(const std::string& name, const ordered_json& document) {
    DEQUANT_TRY(OutputFile out, OutputFile::create(path_of(name), options_.overwrite));
    DEQUANT_CHECK(out.write(python_json(document)));
    DEQUANT_CHECK(out.write("\n"));
    return out.commit();
  }

  Status copy_file(const OtherFile& other) {
    DEQUANT_TRY(const InputFile from, open_other(groups_.shards(), other.name));
    if (const auto slash = other.name.rfind('/'); slash != std::string::npos) {
      std::error_code e;
      std::filesystem::create_directories(path_of(other.name.substr(0, slash)), e);
      if (e) return failure(ErrorCode::io, "{}: {}", escaped(other.name), e.message());
    }
    DEQUANT_TRY(OutputFile out, OutputFile::create(path_of(other.name), options_.overwrite));
    DEQUANT_CHECK(copy(from, 0, from.size(), [&](int64_t, std::span<const std::byte> bytes) {
      return out.write(bytes);
    }));
    DEQUANT_CHECK(from.check_unchanged());
    return out.commit();
  }

  // Tensors.

  Status write_shard(const OutputShard& shard, const std::string& path) {
    DEQUANT_TRY(OutputFile out, OutputFile::create(path, options_.overwrite));
    {
      const Stopwatch watch(&phases_, &Phases::write);
      DEQUANT_CHECK(out.reserve(shard.bytes));
    }
    DEQUANT_CHECK(out.write(shard.header));
    DEQUANT_CHECK(advance(static_cast<int64_t>(shard.header.size())));
    out.leave(shard.bytes - out.size());
    for (const OutputTensor& tensor : shard.tensors) {
      auto status = write_tensor(out, tensor);
      if (stopped_) return *stopped_;
      if (status) continue;
      if (status.error().code == ErrorCode::io) return status;  // it names the file
      return in(fmt::format("tensor {}", escaped(tensor.name)), std::move(status).error());
    }
    const Stopwatch watch(&phases_, &Phases::flush);
    return out.commit();
  }

  Status write_tensor(OutputFile& out, const OutputTensor& tensor) {
    const OffsetSink sink = [&](int64_t offset, std::span<const std::byte> bytes) {
      return write_at(out, tensor.offset + offset, bytes);
    };
    const Entry& entry = *tensor.entry;
    if (tensor.group == nullptr) {
      return copy(groups_.shards().file_of(entry).file, entry.tensor->offset, tensor.bytes, sink);
    }
    const Group& group = *tensor.group;
    DEQUANT_TRY(RecipeReaders readers,
                open_inputs(groups_.shards(), group, parameter_memory(options_.stream)));
    const Plan plan = plan_for(group.plan, group.variants, tensor.output);
    return scatter_.run(plan, std::move(readers), sink);
  }

  /// A file accepts one write at a time. Threads that wait in the file system may spin on
  /// processors that are needed to dequantize, so they wait here.
  Status write_at(OutputFile& out, int64_t at, std::span<const std::byte> bytes) {
    const auto size = static_cast<int64_t>(bytes.size());
    {
      const std::lock_guard lock(writing_);
      const Stopwatch watch(&phases_, &Phases::write);
      DEQUANT_CHECK(out.write_at(at, bytes));
      DEQUANT_CHECK(advance(size));
    }
    const Stopwatch watch(&phases_, &Phases::flush);
    out.start_flush(at, at + size);
    return {};
  }

  Status copy(const InputFile& from, int64_t offset, int64_t size, const OffsetSink& sink) {
    buffer_.resize(static_cast<size_t>(kCopyBytes));
    for (int64_t done = 0; done < size;) {
      const auto part =
          std::span(buffer_).first(static_cast<size_t>(std::min(size - done, kCopyBytes)));
      {
        const Stopwatch watch(&phases_, &Phases::read);
        DEQUANT_CHECK(from.read(offset + done, part));
      }
      DEQUANT_CHECK(sink(done, part));
      done += static_cast<int64_t>(part.size());
    }
    return {};
  }

  Status advance(int64_t bytes) {
    done_ += bytes;
    if (!options_.progress) return {};
    auto status = options_.progress(done_, total_);
    if (!status) stopped_ = status.error();
    return status;
  }

  ModelFile& file_;
  const Groups& groups_;
  const Options& own_;
  const std::string& output_;
  const WriteOptions& options_;
  Phases phases_;
  StreamOptions stream_;
  Scatter scatter_;
  Layout layout_;
  OtherFiles others_;
  std::vector<std::byte> buffer_;
  std::mutex writing_;            ///< held while a chunk is written and progress is called
  std::optional<Error> stopped_;  ///< the error that progress returned
  int64_t done_ = 0;
  int64_t total_ = 0;
};

}  // namespace

Result<ConvertReport> write(ModelFile& file, const Groups& groups, const Options& own,
                            const std::string& output, const WriteOptions& options) {
  return Writer(file, groups, own, output, options).write();
}

}  // namespace dequant::format::checkpoint
