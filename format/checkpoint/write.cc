// Writing a dense checkpoint, file by file.
#include "format/checkpoint/write.h"

#include <algorithm>
#include <filesystem>
#include <unordered_set>

#include "format/checkpoint/describe.h"
#include "format/checkpoint/group_sources.h"
#include "format/checkpoint/layout.h"
#include "format/checkpoint/names.h"
#include "format/checkpoint/other_files.h"
#include "format/dense/output_folder.h"
#include "format/dense/share.h"
#include "format/io/clock.h"
#include "format/io/errors.h"
#include "format/io/room.h"
#include "format/json/json.h"

namespace dequant::format::checkpoint {
namespace {

class Writer : public dense::Job {
 public:
  Writer(ModelFile& file, const Groups& groups, const Options& own, const std::string& output,
         const WriteOptions& options)
      : file_(file),
        groups_(groups),
        own_(own),
        output_(output),
        options_(options),
        stream_(options.stream),
        sources_(groups.shards()) {
    stream_.phases = &phases_;
  }

  Result<ConvertReport> write() {
    const auto started = Clock::now();
    DEQUANT_CHECK(check_options());
    DEQUANT_TRY(layout_, plan_layout(groups_, own_, options_));
    if (is_folder()) {
      DEQUANT_TRY(others_, other_files(groups_.shards(), output_, is_dense()));
      DEQUANT_CHECK(check_folders());
      // One that cannot be read is an error before the work.
      for (const OtherFile& other : others_.copied)
        DEQUANT_CHECK(open_other(groups_.shards(), other.name));
    } else {
      layout_.shards.at(0).name = std::filesystem::path(output_).filename().string();
    }
    DEQUANT_TRY(ConvertReport report, describe(groups_, layout_, others_));
    DEQUANT_CHECK(dense::check_left(file_.path(), report, options_));
    report.seconds.decide = seconds_since(started);
    if (options_.share) {
      DEQUANT_TRY(report.share, dense::carry_out(*this, output_, options_, stream_));
      add_special_scales(sources_.special_scales(), report);
    } else {
      DEQUANT_CHECK(options_.dry_run ? check_output() : write_all(report));
    }
    report.seconds.set(phases_);
    return report;
  }

  const std::vector<dense::OutputShard>& shards() const override { return layout_.shards; }
  dense::Sources& sources() override { return sources_; }
  bool to_folder() const override { return is_folder(); }
  /// Also of one file, if the input has one.
  bool has_index() const override {
    const bool wanted = layout_.shards.size() > 1 || !groups_.shards().index().empty();
    return wanted && !layout_.shards.at(0).tensors.empty();
  }
  Result<std::string> input_hash() const override { return hash_of_input(groups_, false); }
  Status check_unchanged() const override { return groups_.shards().check_unchanged(); }

  Status write_rest(const dense::OutputFolder& folder) override {
    if (!is_folder()) return {};
    for (const OtherFile& other : others_.copied) DEQUANT_CHECK(write_other(folder, other));
    DEQUANT_CHECK(check_unchanged());
    DEQUANT_CHECK(folder.write_index());
    if (groups_.config().document().is_null()) return {};
    const Config& config = groups_.config();
    const Element dtype = computing_dtype(groups_, options_);
    return folder.write_text(
        std::string(kConfig),
        python_json(is_dense() ? config.dense(dtype) : config.document()) + "\n");
  }

 private:
  bool is_folder() const { return groups_.shards().is_folder(); }

  /// True where the configuration of the output says that no tensor is quantized. Where tensors of
  /// unknown() are all that is quantized, the output is the input.
  bool is_dense() const {
    const bool as_input = groups_.groups().empty() && !groups_.unknown().empty();
    return layout_.not_selected.empty() && groups_.unread().empty() && !as_input;
  }

  Status check_options() const {
    if (is_folder()) DEQUANT_CHECK(dense::check_name_of_new(output_));
    DEQUANT_CHECK(dense::check_resume(own_, to_folder()));
    if (!is_folder())
      DEQUANT_CHECK(dense::check_ending(output_, "a safetensors file", ".safetensors"));
    if (options_.dtype || !groups_.asks_for_dtype()) return {};
    return failure(ErrorCode::unsupported,
                   "neither config.json nor the type of the scales says which type the dense "
                   "tensors have: give dtype");
  }

  /// Demands that no folder of other files has the name of a file of the output.
  Status check_folders() const {
    std::unordered_set<std::string> own{std::string(kConfig)};
    if (has_index()) own.insert(dense::index_name(layout_.shards));
    for (const dense::OutputShard& shard : layout_.shards) own.insert(shard.name);
    for (const OtherFile& other : others_.copied) {
      for (auto end = other.name.find('/'); end != std::string::npos;
           end = other.name.find('/', end + 1)) {
        const std::string folder = other.name.substr(0, end);
        if (!own.contains(folder)) continue;
        return failure(ErrorCode::unsupported,
                       "{}: the folder {} in it has the name of a file of the output, where {} is "
                       "to be copied: rename or move it",
                       escaped(groups_.shards().folder()), escaped(folder), escaped(other.name));
      }
    }
    return {};
  }

  /// What write_all() would refuse.
  Status check_output() const {
    if (!is_folder()) {
      DEQUANT_CHECK(OutputFile::check(output_, options_.overwrite));
      return check_room(output_, layout_.shards.at(0).bytes);
    }
    DEQUANT_TRY(const std::string input, hash_of_input(groups_, true));
    return output_folder(input).check_dry(other_bytes());
  }

  int64_t other_bytes() const {
    int64_t bytes = 0;
    for (const OtherFile& other : others_.copied) bytes += other.bytes;
    return bytes;
  }

  dense::OutputFolder output_folder(const std::string& input) const {
    return {output_, input, *this, own_.resume, options_.overwrite};
  }

  Status write_all(ConvertReport& report) {
    const auto write = [&](dense::TensorWriter& tensors) -> Status {
      if (is_folder()) return write_folder(tensors);
      return tensors.write(layout_.shards.at(0), output_, options_.overwrite,
                           [this] { return groups_.shards().check_unchanged(); });
    };
    DEQUANT_CHECK(
        dense::write_with_audit(sources_, stream_, own_, options_, report.bytes_out, write));
    add_special_scales(sources_.special_scales(), report);
    return {};
  }

  Status write_folder(dense::TensorWriter& tensors) {
    DEQUANT_TRY(const std::string input, hash_of_input(groups_, true));
    dense::OutputFolder folder = output_folder(input);
    DEQUANT_CHECK(folder.write_shards(tensors, other_bytes()));
    DEQUANT_CHECK(write_rest(folder));
    return folder.finish();
  }

  Status write_other(const dense::OutputFolder& folder, const OtherFile& other) {
    if (other.name == kParams && is_dense()) {
      const auto params = groups_.config().dense_params();
      if (!params.is_null()) return folder.write_text(other.name, python_json(params) + "\n");
    }
    return copy_file(folder, other);
  }

  Status copy_file(const dense::OutputFolder& folder, const OtherFile& other) {
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
  GroupSources sources_;
  Layout layout_;
  OtherFiles others_;
};

}  // namespace

Result<ConvertReport> write(ModelFile& file, const Groups& groups, const Options& own,
                            const std::string& output, const WriteOptions& options) {
  return Writer(file, groups, own, output, options).write();
}

}  // namespace dequant::format::checkpoint
