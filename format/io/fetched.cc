// Files whose bytes are fetched when they are read.
#include "format/io/fetched.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "format/io/errors.h"

namespace dequant::format {
class FetchedFolder::State {
 public:
  State(const std::string& path, Fetch fetch) : prefix_(path + "/"), fetch_(std::move(fetch)) {}

  bool has(const std::string& path) const { return path.starts_with(prefix_); }

  Status fetch(const std::string& path, Range bytes) {
    if (is_there(path, bytes)) return {};
    DEQUANT_TRY(const Range got, fetch_(path, bytes));
    if (got.begin > bytes.begin || got.end < bytes.end) {
      return failure(ErrorCode::io, "{}: bytes {} to {} were fetched, not {} to {}", escaped(path),
                     got.begin, got.end, bytes.begin, bytes.end);
    }
    const std::lock_guard lock(mutex_);
    there_[path].add(got);
    return {};
  }

 private:
  /// Ranges of a file, none of which touches another.
  class Ranges {
   public:
    bool contain(Range bytes) const {
      auto next = ends_.upper_bound(bytes.begin);
      return next != ends_.begin() && std::prev(next)->second >= bytes.end;
    }

    void add(Range bytes) {
      auto at = ends_.upper_bound(bytes.begin);
      if (at != ends_.begin() && std::prev(at)->second >= bytes.begin) --at;
      while (at != ends_.end() && at->first <= bytes.end) {
        bytes.begin = std::min(bytes.begin, at->first);
        bytes.end = std::max(bytes.end, at->second);
        at = ends_.erase(at);
      }
      ends_.emplace(bytes.begin, bytes.end);
    }

   private:
    std::map<int64_t, int64_t> ends_;  ///< begin -> end
  };

  bool is_there(const std::string& path, Range bytes) {
    const std::lock_guard lock(mutex_);
    const auto found = there_.find(path);
    return found != there_.end() && found->second.contain(bytes);
  }

  const std::string prefix_;
  const Fetch fetch_;
  std::mutex mutex_;
  std::unordered_map<std::string, Ranges> there_;
};

namespace {

/// All folders of the process. Without any, reading costs one load more.
struct Folders {
  std::atomic<size_t> count{0};
  std::mutex mutex;
  std::vector<std::shared_ptr<FetchedFolder::State>> states;
};

Folders& folders() {
  static Folders all;
  return all;
}

/// The folder of a file; null: none.
std::shared_ptr<FetchedFolder::State> folder_with(const std::string& path) {
  Folders& all = folders();
  if (all.count.load(std::memory_order_acquire) == 0) return nullptr;
  const std::lock_guard lock(all.mutex);
  const auto found = std::ranges::find_if(all.states, [&](const auto& s) { return s->has(path); });
  return found == all.states.end() ? nullptr : *found;
}

}  // namespace

FetchedFolder::FetchedFolder(const std::string& path, Fetch fetch)
    : state_(std::make_shared<State>(path, std::move(fetch))) {
  Folders& all = folders();
  const std::lock_guard lock(all.mutex);
  all.states.push_back(state_);
  all.count = all.states.size();
}

FetchedFolder::~FetchedFolder() {
  Folders& all = folders();
  const std::lock_guard lock(all.mutex);
  std::erase(all.states, state_);
  all.count = all.states.size();
}

bool is_fetched(const std::string& path) { return folder_with(path) != nullptr; }

Status fetch_bytes(const std::string& path, Range bytes) {
  const auto folder = folder_with(path);
  if (!folder || bytes.begin >= bytes.end) return {};
  return folder->fetch(path, bytes);
}

}  // namespace dequant::format
