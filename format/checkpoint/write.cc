// Writing a dense checkpoint, file by file.
#include "format/checkpoint/write.h"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "format/checkpoint/describe.h"
#include "format/checkpoint/layout.h"
#include "format/checkpoint/names.h"
#include "format/checkpoint/other_files.h"
#include "format/checkpoint/output_folder.h"
#include "format/checkpoint/tensor_writer.h"
#include "format/io/errors.h"
#include "format/json/json.h"

namespace dequant::format::checkpoint {
namespace {

using nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

double seconds(int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e9; }

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
        stream_(options.stream) {
    stream_.phases = &phases_;
  }

  Result<ConvertReport> write() {
    const auto started = Clock::now();
    DEQUANT_CHECK(check_options());
    DEQUANT_TRY(layout_, plan_layout(groups_, own_, options_));
    if (is_folder()) {
      DEQUANT_TRY(others_, other_files(groups_.shards()));
    }
    DEQUANT_TRY(ConvertReport report, describe(groups_, layout_, others_));
    if (options_.require_float && !report.left.empty()) {
      return failure(ErrorCode::unsupported, "{}: {} tensors would stay quantized, the first is {}",
                     escaped(file_.path()), report.left.size(), escaped(report.left[0].name));
    }
    report.seconds.decide = std::chrono::duration<double>(Clock::now() - started).count();
    if (!options_.dry_run) DEQUANT_CHECK(write_all(report));
    report.seconds.read = seconds(phases_.read);
    report.seconds.dequantize = seconds(phases_.dequantize);
    report.seconds.write = seconds(phases_.write);
    report.seconds.flush = seconds(phases_.flush);
    return report;
  }

 private:
  bool is_folder() const { return groups_.shards().is_folder(); }

  Status check_options() const {
    if (own_.resume && !is_folder()) {
      return failure(ErrorCode::invalid_argument,
                     "resume is for folders: a file appears whole or not at all");
    }
    if (options_.dtype || !groups_.asks_for_dtype()) return {};
    return failure(ErrorCode::unsupported,
                   "neither config.json nor the type of the scales says which type the dense "
                   "tensors have: give dtype");
  }

  Status write_all(ConvertReport& report) {
    Done done(options_.progress, report.bytes_out);
    std::optional<AuditWriter> audit;
    if (!own_.audit.empty()) {
      DEQUANT_TRY(AuditWriter created, AuditWriter::create(own_.audit, options_.overwrite));
      audit.emplace(std::move(created));
    }
    TensorWriter tensors(groups_.shards(), stream_, done, audit ? &*audit : nullptr);
    if (is_folder()) {
      DEQUANT_CHECK(write_folder(tensors, done));
    } else {
      DEQUANT_CHECK(tensors.write(layout_.shards.at(0), output_, options_.overwrite));
      DEQUANT_CHECK(groups_.shards().check_unchanged());
    }
    add_special_scales(tensors.special_scales(), report);
    return audit ? audit->commit() : Status();
  }

  Status write_folder(TensorWriter& tensors, Done& done) {
    OutputFolder folder(output_, groups_, layout_, own_, options_);
    DEQUANT_CHECK(folder.open());
    int64_t complete = 0;
    auto status = write_shards(folder, tensors, done, complete);
    if (!status && complete == 0) folder.abandon();
    DEQUANT_CHECK(std::move(status));
    for (const OtherFile& other : others_.copied) DEQUANT_CHECK(copy_file(folder, other));
    DEQUANT_CHECK(groups_.shards().check_unchanged());
    const bool has_index = layout_.shards.size() > 1 || !groups_.shards().index().empty();
    if (has_index && !layout_.shards[0].tensors.empty())
      DEQUANT_CHECK(write_json(folder, index_name(), index_of(layout_)));
    if (!groups_.config().document().is_null()) {
      const bool all = layout_.not_selected.empty() && groups_.unknown().empty();
      const Element dtype = computing_dtype(groups_, options_);
      DEQUANT_CHECK(write_json(folder, std::string(kConfig),
                               all ? groups_.config().dense(dtype) : groups_.config().document()));
    }
    return folder.finish();
  }

  Status write_shards(const OutputFolder& folder, TensorWriter& tensors, Done& done,
                      int64_t& complete) {
    DEQUANT_CHECK(folder.check_room(others_));
    for (const OutputShard& shard : layout_.shards) {
      DEQUANT_TRY(const bool there, folder.has(shard));
      if (there) DEQUANT_CHECK(tensors.count_scales(shard));
      DEQUANT_CHECK(there ? done.add(shard.bytes)
                          : tensors.write(shard, folder.path_of(shard.name), folder.overwrite()));
      ++complete;
    }
    return {};
  }

  static Status write_json(const OutputFolder& folder, const std::string& name,
                           const ordered_json& document) {
    DEQUANT_TRY(OutputFile out, OutputFile::create(folder.path_of(name), folder.overwrite()));
    DEQUANT_CHECK(out.write(python_json(document)));
    DEQUANT_CHECK(out.write("\n"));
    return out.commit();
  }

  Status copy_file(const OutputFolder& folder, const OtherFile& other) {
    DEQUANT_TRY(const InputFile from, open_other(groups_.shards(), other.name));
    if (const auto slash = other.name.rfind('/'); slash != std::string::npos) {
      std::error_code e;
      std::filesystem::create_directories(folder.path_of(other.name.substr(0, slash)), e);
      if (e) return failure(ErrorCode::io, "{}: {}", escaped(other.name), e.message());
    }
    DEQUANT_TRY(OutputFile out, OutputFile::create(folder.path_of(other.name), folder.overwrite()));
    DEQUANT_CHECK(read_in_parts(from, 0, from.size(),
                                [&](std::span<const std::byte> part) { return out.write(part); }));
    DEQUANT_CHECK(from.check_unchanged());
    return out.commit();
  }

  ModelFile& file_;
  const Groups& groups_;
  const Options& own_;
  const std::string& output_;
  const WriteOptions& options_;
  Phases phases_;
  StreamOptions stream_;
  Layout layout_;
  OtherFiles others_;
};

}  // namespace

Result<ConvertReport> write(ModelFile& file, const Groups& groups, const Options& own,
                            const std::string& output, const WriteOptions& options) {
  return Writer(file, groups, own, output, options).write();
}

}  // namespace dequant::format::checkpoint
