// Writing the dense model of a GGUF model.
#include "format/gguf/write.h"

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "format/dense/output_folder.h"
#include "format/dense/share.h"
#include "format/gguf/report.h"
#include "format/gguf/sources.h"
#include "format/io/clock.h"
#include "format/io/room.h"

namespace dequant::format::gguf {
namespace {

/// Names of complete files, which are removed unless all of them are complete.
class CompleteFiles {
 public:
  CompleteFiles() = default;
  CompleteFiles(const CompleteFiles&) = delete;
  CompleteFiles& operator=(const CompleteFiles&) = delete;
  ~CompleteFiles() {
    for (const std::string& path : paths_) ::unlink(path.c_str());
  }

  void add(std::string path) { paths_.push_back(std::move(path)); }
  void keep() { paths_.clear(); }

 private:
  std::vector<std::string> paths_;
};

class Writer : public dense::Job {
 public:
  Writer(ModelFile& file, const Parts& parts, const Uses& uses, const Options& own,
         const std::string& output, const WriteOptions& options)
      : file_(file),
        parts_(parts),
        uses_(uses),
        own_(own),
        output_(output),
        options_(options),
        target_(target_of(output)),
        stream_(options.stream),
        sources_(parts) {
    stream_.phases = &phases_;
  }

  Result<ConvertReport> write() {
    const auto started = Clock::now();
    DEQUANT_CHECK(check_options());
    auto layout = plan_layout(parts_, uses_, own_, output_, options_);
    if (!layout) return in(escaped(file_.path()), std::move(layout).error());
    layout_ = *std::move(layout);
    ConvertReport report = report_of(parts_, uses_, layout_, target_, own_.names);
    DEQUANT_CHECK(dense::check_left(file_.path(), report, options_));
    report.seconds.decide = seconds_since(started);
    if (options_.share) {
      DEQUANT_TRY(report.share, dense::carry_out(*this, output_, options_, stream_));
    } else {
      DEQUANT_CHECK(options_.dry_run ? check_output() : write_all(report));
    }
    report.seconds.set(phases_);
    return report;
  }

  const std::vector<dense::OutputShard>& shards() const override { return layout_.shards; }
  dense::Sources& sources() override { return sources_; }
  bool to_folder() const override { return target_ == Target::folder; }
  Result<std::string> input_hash() const override { return hash_of_input(parts_, false); }
  Status check_unchanged() const override { return parts_.check_unchanged(); }

  Status write_rest(const dense::OutputFolder& folder) override {
    if (!to_folder()) return {};
    DEQUANT_CHECK(folder.write_index());
    return layout_.config ? folder.write_text("config.json", layout_.config->text) : Status();
  }

 private:
  Status check_options() const {
    if (to_folder()) DEQUANT_CHECK(dense::check_name_of_new(output_));
    DEQUANT_CHECK(dense::check_resume(own_, to_folder()));
    if (own_.names == Names::transformers && target_ == Target::gguf) {
      return failure(ErrorCode::invalid_argument,
                     "names hf is for safetensors: {} would be a GGUF file", escaped(output_));
    }
    if (own_.split && target_ == Target::safetensors) {
      return failure(ErrorCode::invalid_argument,
                     "max-shard-size is for folders and GGUF files: {} is one file",
                     escaped(output_));
    }
    return {};
  }

  /// What write_all() would refuse.
  Status check_output() const {
    if (target_ == Target::folder) {
      const std::string input = hash_of_input(parts_, true);
      return output_folder(input).check_dry(other_bytes());
    }
    for (const std::string& path : paths()) {
      DEQUANT_CHECK(file_.check_output(path));
      DEQUANT_CHECK(OutputFile::check(path, options_.overwrite));
    }
    return check_room_of_files();
  }

  /// All files are on the disk before the first has its name.
  Status check_room_of_files() const {
    int64_t bytes = 0;
    for (const dense::OutputShard& shard : layout_.shards) bytes += shard.bytes;
    return check_room(output_, bytes);
  }

  /// Of the file beside the shards of a folder.
  int64_t other_bytes() const {
    return layout_.config ? static_cast<int64_t>(layout_.config->text.size()) : 0;
  }

  dense::OutputFolder output_folder(const std::string& input) const {
    return {output_, input, *this, own_.resume, options_.overwrite};
  }

  /// Of the files, where the output is no folder.
  std::vector<std::string> paths() const {
    if (layout_.shards.size() == 1) return {output_};
    std::vector<std::string> paths;
    for (const dense::OutputShard& shard : layout_.shards)
      paths.push_back(fmt::format("{}/{}", folder_of(output_), shard.name));
    return paths;
  }

  Status write_all(const ConvertReport& report) {
    const auto write = [&](dense::TensorWriter& tensors) -> Status {
      return target_ == Target::folder ? write_folder(tensors) : write_files(tensors);
    };
    return dense::write_with_audit(sources_, stream_, own_, options_, report.bytes_out, write);
  }

  Status write_folder(dense::TensorWriter& tensors) {
    const std::string input = hash_of_input(parts_, true);
    dense::OutputFolder folder = output_folder(input);
    DEQUANT_CHECK(folder.write_shards(tensors, other_bytes()));
    DEQUANT_CHECK(parts_.check_unchanged());
    DEQUANT_CHECK(write_rest(folder));
    return folder.finish();
  }

  Status write_files(dense::TensorWriter& tensors) {
    if (layout_.shards.size() == 1) {
      return tensors.write(layout_.shards[0], output_, options_.overwrite,
                           [this] { return parts_.check_unchanged(); });
    }
    const std::vector<std::string> files = paths();
    for (const std::string& path : files) DEQUANT_CHECK(file_.check_output(path));
    DEQUANT_CHECK(check_room_of_files());
    std::vector<OutputFile> filled;
    for (size_t i = 0; i < files.size(); ++i) {
      DEQUANT_TRY(OutputFile out, tensors.fill(layout_.shards[i], files[i], options_.overwrite));
      filled.push_back(std::move(out));
    }
    DEQUANT_CHECK(parts_.check_unchanged());
    // Files of another model that are replaced do not load without the last of them: no mix of both
    // models loads.
    if (options_.overwrite == Overwrite::replace) DEQUANT_CHECK(remove_file(files.back()));
    CompleteFiles complete;
    for (OutputFile& out : filled) {
      DEQUANT_CHECK(out.commit());
      complete.add(out.path());
    }
    complete.keep();
    return {};
  }

  ModelFile& file_;
  const Parts& parts_;
  const Uses& uses_;
  const Options& own_;
  const std::string& output_;
  const WriteOptions& options_;
  const Target target_;
  Phases phases_;
  StreamOptions stream_;
  PartSources sources_;
  Layout layout_;
};

}  // namespace

Result<ConvertReport> write(ModelFile& file, const Parts& parts, const Uses& uses,
                            const Options& own, const std::string& output,
                            const WriteOptions& options) {
  return Writer(file, parts, uses, own, output, options).write();
}

}  // namespace dequant::format::gguf
