// A conversion on a thread of its own.
#include "python/core/conversion.h"

#include <chrono>
#include <system_error>

#include "format/model/float_environment.h"
#include "python/core/model.h"
#include "python/core/unlocked.h"

namespace dequant::python {
namespace nb = nanobind;
namespace {

/// The longest interval between two checks for signals and progress by the calling thread.
constexpr std::chrono::milliseconds kCheckInterval{50};

Status stopped() { return Error{ErrorCode::invalid_argument, "the conversion was stopped"}; }

}  // namespace

Conversion::Conversion(format::ConvertOptions options, bool to_memory, Work function,
                       nb::handle fetched)
    : options_(std::move(options)), to_memory_(to_memory), work_(std::move(function)) {
  options_.write.progress = [this](int64_t done, int64_t total) { return tell(done, total); };
  if (to_memory_) options_.write.memory = [this](int64_t bytes) { return ask_for(bytes); };
  if (!fetched.is_none()) {
    const nb::object folder = fetched[0];
    fetch_ = fetched[1];
    folder_.emplace(path_of(folder),
                    [this](const std::string& path, Range bytes) { return fetch(path, bytes); });
  }
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

Conversion::~Conversion() {
  const Unlocked unlocked;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

/// Runs the conversion on the calling thread alone, and calls `progress` in between.
format::ConvertReport Conversion::work_here(nb::handle progress) {
  options_.write.stream.executor = sequential_executor();
  std::exception_ptr raised;
  here_ = &raised;
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
  if (to_memory_) {
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

/// Called by threads of the conversion.
Result<Range> Conversion::fetch(const std::string& path, Range bytes) {
  Request request{path, bytes};
  if (here_ != nullptr) {
    const nb::gil_scoped_acquire lock;
    try {
      return call_fetch({&request})[0];
    } catch (...) {
      *here_ = std::current_exception();
      return stopped().error();
    }
  }
  std::unique_lock lock(mutex_);
  requests_.push_back(&request);
  state_.fetches = true;
  changed_.notify_all();
  changed_.wait(lock, [&] { return request.got || stopped_; });
  if (request.got) return *request.got;
  return stopped().error();
}

/// Fetches the bytes that threads wait for. An exception leaves them waiting for the destructor.
void Conversion::fetch_all() {
  std::vector<Request*> waiting;
  {
    const std::lock_guard lock(mutex_);
    waiting.swap(requests_);
    state_.fetches = false;
  }
  const std::vector<Range> got = call_fetch(waiting);
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < waiting.size(); ++i) waiting[i]->got = got[i];
  changed_.notify_all();
}

std::vector<Range> Conversion::call_fetch(const std::vector<Request*>& requests) const {
  nb::list wanted;
  for (const Request* r : requests)
    wanted.append(nb::make_tuple(to_text(r->path), r->bytes.begin, r->bytes.end));
  const nb::object got = fetch_(wanted);
  std::vector<Range> ranges;
  for (size_t i = 0; i < requests.size(); ++i) {
    const nb::object range = got[i];
    const nb::object begin = range[0];
    const nb::object end = range[1];
    ranges.push_back({integer("begin", begin), integer("end", end)});
  }
  return ranges;
}

/// Returns as soon as the conversion asks or has ended, at the latest after kCheckInterval.
Conversion::State Conversion::wait() {
  const Unlocked unlocked;
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kCheckInterval, [this] {
    return state_.asks || state_.wants || state_.fetches || state_.ended;
  });
  return state_;
}

/// Lets the output get its name.
void Conversion::answer() {
  const std::lock_guard lock(mutex_);
  state_.asks = false;
  changed_.notify_all();
}

/// Lets the conversion write to new memory. Raises MemoryError.
void Conversion::give_memory(int64_t bytes) {
  allocate(bytes);
  const std::lock_guard lock(mutex_);
  state_.wants.reset();
  changed_.notify_all();
}

/// The report, or the exception, of a conversion that has ended.
format::ConvertReport Conversion::report() {
  if (thrown_) std::rethrow_exception(thrown_);
  return checked(*std::move(result_));
}

Status Conversion::tell(int64_t done, int64_t total) {
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

Result<std::span<std::byte>> Conversion::ask_for(int64_t bytes) {
  std::unique_lock lock(mutex_);
  state_.wants = bytes;
  changed_.notify_all();
  changed_.wait(lock, [this] { return !state_.wants || stopped_; });
  if (stopped_) return stopped().error();
  return memory_;
}

/// A new bytes object, which nobody else sees before the conversion has ended.
void Conversion::allocate(int64_t bytes) {
  written_ = nb::steal(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(bytes)));
  if (!written_.is_valid()) throw nb::python_error();
  memory_ = {reinterpret_cast<std::byte*>(PyBytes_AsString(written_.ptr())),
             static_cast<size_t>(bytes)};
}

void Conversion::work() {
  const format::FloatEnvironment environment;
  try {
    result_ = work_(options_);
  } catch (...) {  // std::bad_alloc
    thrown_ = std::current_exception();
  }
}

format::ConvertReport Conversion::listen(nb::handle progress) {
  if (!thread_.joinable()) return work_here(progress);
  int64_t told = -1;
  for (;;) {
    const State state = wait();
    if (state.ended) return report();
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (!progress.is_none() && state.total > 0 && state.done != told) {
      progress(state.done, state.total);
      told = state.done;
    }
    if (state.fetches) fetch_all();
    if (state.wants) give_memory(*state.wants);
    if (state.asks) answer();
  }
}

}  // namespace dequant::python
