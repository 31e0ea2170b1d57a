// The steps of a conversion that several processes carry out.
#include "format/dense/share.h"

#include "format/dense/output_folder.h"
#include "format/dense/records.h"
#include "format/io/clock.h"
#include "format/io/errors.h"

namespace dequant::format::dense {
namespace {

using State = TaskReport::State;

class Share {
 public:
  Share(Job& job, TaskList list, const std::string& output, const WriteOptions& options,
        const StreamOptions& stream)
      : job_(job),
        options_(options),
        share_(*options.share),
        stream_(stream),
        output_(output),
        list_(std::move(list)),
        folder_(output, list_) {
    report_.fingerprint = list_.fingerprint;
    report_.folder = folder_.path();
    report_.count = static_cast<int64_t>(list_.tasks.size());
  }

  Result<ShareReport> carry_out() {
    if (!share_.fingerprint.empty() && share_.fingerprint != list_.fingerprint) {
      return failure(ErrorCode::invalid_argument,
                     "the fingerprint of the conversion is {}, not {} as when it was planned: the "
                     "input, the options or the version of dequant changed since",
                     list_.fingerprint, escaped(share_.fingerprint));
    }
    switch (share_.step) {
      case ShareOptions::Step::plan: plan(); break;
      case ShareOptions::Step::run: DEQUANT_CHECK(run()); break;
      case ShareOptions::Step::finalize: DEQUANT_CHECK(finalize()); break;
    }
    return std::move(report_);
  }

 private:
  TaskReport report_of(size_t task) const {
    return {.number = static_cast<int64_t>(task),
            .file = list_.shard_of(task).name,
            .bytes = list_.tasks[task].bytes};
  }

  void plan() {
    for (size_t i = 0; i < list_.tasks.size(); ++i) {
      report_.tasks.push_back(report_of(i));
      report_.tasks.back().reads = reads_of(job_, list_.tasks[i]);
    }
  }

  Result<std::vector<size_t>> own_tasks() const {
    if (!share_.task) return share_of(list_.tasks, share_.index, share_.count);
    if (*share_.task >= 0 && *share_.task < report_.count)
      return std::vector<size_t>{static_cast<size_t>(*share_.task)};
    return failure(ErrorCode::invalid_argument, "task {} of {}: they count from 0", *share_.task,
                   report_.count);
  }

  Status run() {
    DEQUANT_TRY(const std::vector<size_t> own, own_tasks());
    DEQUANT_CHECK(folder_.begin(list_, share_.conversion, options_.overwrite));
    int64_t bytes = 0;
    for (const size_t task : own)
      bytes += list_.tasks[task].bytes.end - list_.tasks[task].bytes.begin;
    Done done(options_.progress, bytes);
    TensorWriter writer(job_.sources(), stream_, done, nullptr);
    for (const size_t task : own) {
      DEQUANT_TRY(const std::string reason, folder_.missing(list_, task, false));
      TaskReport report = report_of(task);
      report.state = reason.empty() ? State::found : State::done;
      if (reason.empty()) {
        DEQUANT_CHECK(done.add(report.bytes.end - report.bytes.begin));
      } else {
        DEQUANT_CHECK(write(task, writer));
      }
      report_.tasks.push_back(std::move(report));
    }
    return {};
  }

  Status write(size_t task, TensorWriter& writer) {
    const auto started = Clock::now();
    const OutputShard& shard = list_.shard_of(task);
    DEQUANT_TRY(SharedFile file, folder_.open(shard));
    ValueRange values;
    DEQUANT_CHECK(writer.write_part(shard, list_.tasks[task].bytes, file, values));
    DEQUANT_CHECK(job_.check_unchanged());
    const double seconds = seconds_since(started);
    return folder_.add_record(list_, task, values, seconds);
  }

  Status finalize() {
    DEQUANT_CHECK(folder_.check(list_));
    bool all = true;
    for (size_t i = 0; i < list_.tasks.size(); ++i) {
      TaskReport report = report_of(i);
      DEQUANT_TRY(report.reason, folder_.missing(list_, i, share_.read_again));
      report.state = report.reason.empty() ? State::found : State::missing;
      // A run without read_again would find the task done, as it compares samples only.
      if (share_.read_again && !report.reason.empty()) DEQUANT_CHECK(folder_.forget(i));
      all = all && report.reason.empty();
      report_.tasks.push_back(std::move(report));
    }
    if (!all) return {};
    return complete();
  }

  /// The file that makes the folder a model gets its name last.
  Status complete() {
    DEQUANT_TRY(const std::string input, job_.input_hash());
    const OutputFolder rest(output_, input, job_, false, Overwrite::replace);
    if (job_.to_folder() && options_.overwrite == Overwrite::replace)
      DEQUANT_CHECK(rest.withdraw());
    for (const OutputShard& shard : job_.shards())
      DEQUANT_CHECK(folder_.move(shard, options_.overwrite));
    DEQUANT_CHECK(job_.write_rest(rest));
    DEQUANT_CHECK(job_.check_unchanged());
    report_.complete = true;
    return folder_.remove();
  }

  Job& job_;
  const WriteOptions& options_;
  const ShareOptions& share_;
  const StreamOptions& stream_;
  const std::string& output_;
  const TaskList list_;
  const WorkFolder folder_;
  ShareReport report_;
};

}  // namespace

Result<ShareReport> carry_out(Job& job, const std::string& output, const WriteOptions& options,
                              const StreamOptions& stream) {
  DEQUANT_CHECK(check_names(job.shards(), "as records of tasks are: give another output"));
  TaskList list{job, tasks_of(job, options.share->task_bytes), {}};
  DEQUANT_TRY(list.fingerprint, fingerprint_of(job, list.tasks));
  return Share(job, std::move(list), output, options, stream).carry_out();
}

}  // namespace dequant::format::dense
