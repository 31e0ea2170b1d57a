// Options and output that several subcommands have.
#include "tools/common.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace dequant::tools {
namespace {

/// Characters of a progress bar. A shorter one would say less than the number beside it.
constexpr size_t kLongestBar = 40;
constexpr size_t kShortestBar = 10;

}  // namespace

void Threads::add_to(const Command& command) {
  command
      .add_option("-T,--threads", threads_,
                  "Threads to use, at most one for each processor; 0: one for each processor")
      .between(0, std::numeric_limits<int>::max())
      .capture_default_str();
}

Executor Threads::executor() {
  if (threads_ == 0) return default_executor();
  if (threads_ == 1) return sequential_executor();
  if (!pool_) pool_ = std::make_unique<ThreadPool>(threads_);
  return pool_->executor();
}

void Resources::add_to(const Command& command) {
  threads_.add_to(command);
  command
      .add_option(
          "--mem", memory_,
          "Memory for tensor data, as in 512Mi or 1Gi (default 1Gi), and, if that is more than "
          "usual, for the structure of the model")
      .size()
      .type_name("SIZE");
}

int64_t Resources::structure_memory() const {
  return static_cast<int64_t>(std::min<uint64_t>(memory_.value_or(0), INT64_MAX));
}

format::StreamOptions Resources::stream_options() {
  format::StreamOptions options;
  if (memory_) options.memory = structure_memory();
  options.executor = threads_.executor();
  return options;
}

Progress::Progress(std::string what, bool quiet)
    : what_(std::move(what)),
      quiet_(quiet),
      start_(std::chrono::steady_clock::now()),
      last_(start_) {}

Status Progress::operator()(int64_t done, int64_t total) {
  using namespace std::chrono_literals;
  if (quiet_ || line_.width() == 0 || total <= 0) return {};
  const auto now = std::chrono::steady_clock::now();
  if (now - start_ < 1s || now - last_ < 100ms) return {};
  last_ = now;
  const double part = std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const std::string numbers =
      fmt::format("{:3.0f} %  {:.0f} MB/s", part * 100, static_cast<double>(done) / seconds / 1e6);
  constexpr size_t kAround = 4;  // spaces and brackets
  const size_t others = what_.size() + numbers.size() + kAround;
  const size_t length = std::min(kLongestBar, line_.width() - std::min(line_.width(), others));
  const auto filled = static_cast<size_t>(part * static_cast<double>(length));
  line_.show(length < kShortestBar ? fmt::format("{} {}", what_, numbers)
                                   : fmt::format("{} [{:#<{}}{:.<{}}] {}", what_, "", filled, "",
                                                 length - filled, numbers));
  return {};
}

}  // namespace dequant::tools
