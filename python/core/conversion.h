// A conversion on a thread of its own, while the calling thread handles signals and calls
// progress().
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "format/io/fetched.h"
#include "format/model/convert.h"
#include "python/core/call.h"

namespace dequant::python {

/// What is done, with options whose progress and memory are those of the caller.
using Work = std::function<Result<format::ConvertReport>(const format::ConvertOptions& options)>;

/// A running conversion. Its own threads never use the interpreter.
class Conversion {
 public:
  /// `to_memory`: the output becomes a bytes object. `fetched`: None, or a folder and a function
  /// that fetches bytes of the files in it; see listen().
  Conversion(format::ConvertOptions options, bool to_memory, Work function,
             nanobind::handle fetched = nanobind::none());

  /// Stops the conversion, unless the output already has its name, and joins its thread.
  ~Conversion();

  Conversion(const Conversion&) = delete;
  Conversion& operator=(const Conversion&) = delete;

  /// Waits for the end of the conversion; meanwhile calls `progress` and handles signals. An
  /// exception of `progress` or of a signal handler stops the conversion, which then leaves no
  /// file; that of a signal after the last call of `progress`, just before the output gets its
  /// name, is too late for that. One of the function that fetches bytes stops it, too: this thread
  /// calls it with a list of (path, begin, end), and it returns for each a range around it, (begin,
  /// end), all of which the file then has. Raises the exception of an error.
  format::ConvertReport listen(nanobind::handle progress);

  /// The output of a conversion to memory that has ended; None of a dry run.
  nanobind::object written() const { return written_.is_valid() ? written_ : nanobind::none(); }

 private:
  struct State {
    int64_t done = 0;
    int64_t total = 0;
    bool asks = false;  ///< all bytes are written; the output gets its name after answer()
    std::optional<int64_t> wants = std::nullopt;  ///< bytes of the output, until give_memory()
    bool fetches = false;                         ///< threads wait for bytes, until fetch_all()
    bool ended = false;
  };

  /// Bytes that a thread waits for; the thread owns the object.
  struct Request {
    const std::string& path;
    Range bytes;
    std::optional<Range> got = std::nullopt;
  };

  Result<Range> fetch(const std::string& path, Range bytes);
  void fetch_all();
  std::vector<Range> call_fetch(const std::vector<Request*>& requests) const;
  format::ConvertReport work_here(nanobind::handle progress);
  State wait();
  void answer();
  void give_memory(int64_t bytes);
  format::ConvertReport report();
  Status tell(int64_t done, int64_t total);
  Result<std::span<std::byte>> ask_for(int64_t bytes);
  void allocate(int64_t bytes);
  void work();

  format::ConvertOptions options_;
  const bool to_memory_;
  const Work work_;
  nanobind::object written_;  ///< has memory_
  std::span<std::byte> memory_;
  std::optional<Result<format::ConvertReport>> result_;
  std::exception_ptr thrown_;
  std::mutex mutex_;
  std::condition_variable changed_;
  State state_;
  std::vector<Request*> requests_;
  bool stopped_ = false;
  std::exception_ptr* here_ = nullptr;  ///< of work_here(): gets what a call of Python raises
  nanobind::object fetch_;
  std::optional<format::FetchedFolder> folder_;
  std::thread thread_;
};

}  // namespace dequant::python
