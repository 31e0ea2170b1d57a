// dequant.convert(): the conversion runs on its own thread. The calling thread meanwhile handles
// signals and calls progress().
#include "format/model/convert.h"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <thread>

#include "format/formats.h"
#include "format/model/report_json.h"
#include "python/core/call.h"
#include "python/core/model.h"
#include "python/core/numpy.h"
#include "python/core/unlocked.h"

namespace dequant::python {
namespace nb = nanobind;
using namespace nb::literals;
namespace {

using format::ConvertOptions;
using format::ConvertReport;

/// The longest interval between two checks for signals and progress by the calling thread.
constexpr std::chrono::milliseconds kCheckInterval{50};

/// A running conversion. Its own threads never use the interpreter.
class Conversion {
 public:
  struct State {
    int64_t done = 0;
    int64_t total = 0;
    bool asks = false;  ///< all bytes are written; the output gets its name after answer()
    std::optional<int64_t> wants = std::nullopt;  ///< bytes of the output, until give_memory()
    bool ended = false;
  };

  /// Without an output the conversion writes to memory.
  Conversion(std::string input, std::optional<std::string> output, ConvertOptions options)
      : input_(std::move(input)), output_(std::move(output)), options_(std::move(options)) {
    options_.write.progress = [this](int64_t done, int64_t total) { return tell(done, total); };
    if (!output_) options_.write.memory = [this](int64_t bytes) { return ask_for(bytes); };
    try {
      thread_ = std::thread([this] {
        work();
        const std::lock_guard lock(mutex_);
        state_.ended = true;
        changed_.notify_all();
      });
    } catch (const std::system_error&) {  // the system grants no thread: see work_here()
    }
  }

  /// Stops the conversion, unless the output already has its name, and joins its thread.
  ~Conversion() {
    const Unlocked unlocked;
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
      changed_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
  }

  Conversion(const Conversion&) = delete;
  Conversion& operator=(const Conversion&) = delete;

  bool has_a_thread() const { return thread_.joinable(); }

  /// Runs the conversion on the calling thread alone, and calls `progress` in between.
  ConvertReport work_here(nb::handle progress) {
    options_.write.stream.executor = sequential_executor();
    std::exception_ptr raised;
    const auto locked = [&](auto call) -> Status {
      const nb::gil_scoped_acquire lock;
      try {
        call();
        return {};
      } catch (...) {
        raised = std::current_exception();
        return stopped();
      }
    };
    options_.write.progress = [&](int64_t done, int64_t total) {
      return locked([&] {
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
        if (!progress.is_none() && total > 0) progress(done, total);
      });
    };
    if (!output_) {
      options_.write.memory = [&](int64_t bytes) -> Result<std::span<std::byte>> {
        DEQUANT_CHECK(locked([&] { allocate(bytes); }));
        return memory_;
      };
    }
    {
      const Unlocked unlocked;
      work();
    }
    if (raised) std::rethrow_exception(raised);
    return report();
  }

  /// Returns as soon as the conversion asks or has ended, at the latest after kCheckInterval.
  State wait() {
    const Unlocked unlocked;
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kCheckInterval,
                      [this] { return state_.asks || state_.wants || state_.ended; });
    return state_;
  }

  /// Lets the output get its name.
  void answer() {
    const std::lock_guard lock(mutex_);
    state_.asks = false;
    changed_.notify_all();
  }

  /// Lets the conversion write to new memory. Raises MemoryError.
  void give_memory(int64_t bytes) {
    allocate(bytes);
    const std::lock_guard lock(mutex_);
    state_.wants.reset();
    changed_.notify_all();
  }

  /// The output of a conversion to memory that has ended; None of a dry run.
  nb::object written() const { return written_.is_valid() ? written_ : nb::none(); }

  /// The report, or the exception, of a conversion that has ended.
  ConvertReport report() {
    if (thrown_) std::rethrow_exception(thrown_);
    return checked(*std::move(result_));
  }

 private:
  Status tell(int64_t done, int64_t total) {
    std::unique_lock lock(mutex_);
    state_.done = done;
    state_.total = total;
    if (done == total && total > 0) {
      state_.asks = true;
      changed_.notify_all();
      changed_.wait(lock, [this] { return !state_.asks || stopped_; });
    }
    return stopped_ ? stopped() : Status();
  }

  Result<std::span<std::byte>> ask_for(int64_t bytes) {
    std::unique_lock lock(mutex_);
    state_.wants = bytes;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !state_.wants || stopped_; });
    if (stopped_) return stopped().error();
    return memory_;
  }

  /// A new bytes object, which nobody else sees before the conversion has ended.
  void allocate(int64_t bytes) {
    written_ = nb::steal(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(bytes)));
    if (!written_.is_valid()) throw nb::python_error();
    memory_ = {reinterpret_cast<std::byte*>(PyBytes_AsString(written_.ptr())),
               static_cast<size_t>(bytes)};
  }

  static Status stopped() {
    return Error{ErrorCode::invalid_argument, "the conversion was stopped"};
  }

  void work() {
    try {
      result_ = format::convert(format::formats(), input_, output_.value_or(""), options_);
    } catch (...) {  // std::bad_alloc
      thrown_ = std::current_exception();
    }
  }

  const std::string input_;
  const std::optional<std::string> output_;
  ConvertOptions options_;
  nb::object written_;  ///< has memory_
  std::span<std::byte> memory_;
  std::optional<Result<ConvertReport>> result_;
  std::exception_ptr thrown_;
  std::mutex mutex_;
  std::condition_variable changed_;
  State state_;
  bool stopped_ = false;
  std::thread thread_;
};

/// Waits for the end of the conversion; meanwhile calls `progress` and handles signals. An
/// exception of `progress` or of a signal handler stops the conversion, which then leaves no file.
ConvertReport listen(Conversion& conversion, nb::handle progress) {
  if (!conversion.has_a_thread()) return conversion.work_here(progress);
  int64_t told = -1;
  for (;;) {
    const Conversion::State state = conversion.wait();
    if (state.ended) return conversion.report();
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (!progress.is_none() && state.total > 0 && state.done != told) {
      progress(state.done, state.total);
      told = state.done;
    }
    if (state.wants) conversion.give_memory(*state.wants);
    if (state.asks) conversion.answer();
  }
}

std::vector<std::string> globs(const char* parameter, nb::handle list) {
  std::vector<std::string> out;
  for (const nb::handle glob : list) out.push_back(from_text(parameter, glob));
  return out;
}

/// `own` has options that only some formats have: names as on the command line -> texts.
/// `contents` and `folder` as of bytes_of(); with these `input` is a name for messages. Returns the
/// report as JSON, and the output where `output` is None.
nb::tuple convert(nb::handle input, nb::handle contents, nb::handle folder, nb::handle output,
                  nb::dict own, nb::handle dtype, bool clean_temp, nb::handle include,
                  nb::handle exclude, bool overwrite, bool dry_run, bool require_float,
                  nb::handle threads, nb::handle mem, nb::handle progress) {
  ThreadPool pool(threads_of(threads));
  ConvertOptions options;
  options.open.bytes = bytes_of(contents, folder);
  for (const auto& [name, value] : own) {
    const std::string key = from_text("own", name);
    options.open.own.set(key, from_text(key.c_str(), value));
  }
  options.clean_temp = clean_temp;
  options.write.dtype = output_of("dtype", dtype);
  options.write.dry_run = dry_run;
  options.write.require_float = require_float;
  options.write.selection = {globs("include", include), globs("exclude", exclude)};
  options.write.overwrite = overwrite ? format::Overwrite::replace : format::Overwrite::refuse;
  options.write.stream.executor = pool.executor();
  if (!mem.is_none()) {
    options.open.memory = integer("mem", mem);
    options.write.stream.memory = options.open.memory;
  }
  std::optional<std::string> to;
  if (!output.is_none()) to = path_of(output);
  Conversion conversion(path_of(input), std::move(to), std::move(options));
  const auto json = format::to_json(listen(conversion, progress));
  const std::string text =
      json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  return nb::make_tuple(nb::str(text.data(), text.size()), conversion.written());
}

}  // namespace

void add_convert(nb::module_& core) {
  core.def("convert", convert, "input"_a, "contents"_a.none(), "folder"_a.none(), "output"_a.none(),
           "own"_a, "dtype"_a.none(), "clean_temp"_a, "include"_a, "exclude"_a, "overwrite"_a,
           "dry_run"_a, "require_float"_a, "threads"_a.none(), "mem"_a.none(), "progress"_a.none());
}

}  // namespace dequant::python
