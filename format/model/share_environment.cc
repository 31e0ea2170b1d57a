// Which share of a conversion a process carries out.
#include "format/model/share_environment.h"

#include <array>
#include <charconv>
#include <optional>

#include "format/io/errors.h"

namespace dequant::format {
namespace {

/// The variables of a scheduler. The index is (value of `index` - value of `first`) / value of
/// `step`.
struct Scheduler {
  const char* name;
  const char* index;
  const char* count;
  const char* first = nullptr;      ///< may be absent
  const char* step = nullptr;       ///< may be absent
  const char* only_with = nullptr;  ///< where this variable is not set, the others say nothing
};

/// srun sets SLURM_STEP_ID; the script of a batch job has rank 0 of all tasks, whichever starts it.
constexpr std::array<Scheduler, 6> kSchedulers{{
    {"Slurm's array", "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MIN",
     "SLURM_ARRAY_TASK_STEP"},
    {"srun", "SLURM_PROCID", "SLURM_NTASKS", nullptr, nullptr, "SLURM_STEP_ID"},
    {"torchrun", "RANK", "WORLD_SIZE"},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"PMI", "PMI_RANK", "PMI_SIZE"},
    {"Kubernetes", "JOB_COMPLETION_INDEX", "JOB_COMPLETION_COUNT"},
}};

std::optional<int64_t> number_of(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || number < 0)
    return {};
  return number;
}

Result<int64_t> variable(const Environment& environment, const char* name, int64_t otherwise) {
  const char* text = name == nullptr ? nullptr : environment(name);
  if (text == nullptr) return otherwise;
  if (const auto number = number_of(text)) return *number;
  return failure(ErrorCode::invalid_argument, "{} is \"{}\", which is no number", name,
                 escaped(text));
}

Result<ShareNumber> checked(ShareNumber share, std::string_view what) {
  if (share.count >= 1 && share.index < share.count) return share;
  return failure(ErrorCode::invalid_argument,
                 "{}: share {} of {} does not exist; shares count from 0", what, share.index,
                 share.count);
}

/// The share that a scheduler says; nothing where it has not started this process.
Result<std::optional<ShareNumber>> share_by(const Scheduler& s, const Environment& environment) {
  const bool applies = s.only_with == nullptr || environment(s.only_with) != nullptr;
  if (environment(s.index) == nullptr || !applies) return std::optional<ShareNumber>();
  if (environment(s.count) == nullptr) {
    return failure(ErrorCode::invalid_argument,
                   "{} is set and {} is not: set it to the number of shares, or give i/n", s.index,
                   s.count);
  }
  DEQUANT_TRY(const int64_t index, variable(environment, s.index, 0));
  DEQUANT_TRY(const int64_t count, variable(environment, s.count, 1));
  DEQUANT_TRY(const int64_t first, variable(environment, s.first, 0));
  DEQUANT_TRY(const int64_t step, variable(environment, s.step, 1));
  if (step < 1 || index < first || (index - first) % step != 0) {
    return failure(ErrorCode::invalid_argument, "{} is {}, which is not {} and steps of {}",
                   s.index, index, first, step);
  }
  DEQUANT_TRY(const ShareNumber share, checked({(index - first) / step, count}, s.index));
  return std::optional(share);
}

}  // namespace

Result<ShareNumber> share_of_environment(const Environment& environment) {
  std::optional<ShareNumber> found;
  const Scheduler* by = nullptr;
  for (const Scheduler& s : kSchedulers) {
    DEQUANT_TRY(const auto share, share_by(s, environment));
    // One process of one is what a scheduler says that starts each share as a job of its own.
    if (!share || (found && share->count == 1)) continue;
    if (found && found->count > 1 && *found != *share) {
      return failure(ErrorCode::invalid_argument,
                     "{} says share {}/{}, and {} says {}/{}: give one of them in place of auto, "
                     "such as ${}/${}",
                     by->name, found->index, found->count, s.name, share->index, share->count,
                     s.index, s.count);
    }
    found = share;
    by = &s;
  }
  if (found) return *found;
  std::string names;
  for (const Scheduler& s : kSchedulers) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", s.index);
    if (s.only_with != nullptr) names += fmt::format(" with {}", s.only_with);
  }
  return failure(ErrorCode::invalid_argument,
                 "auto: no scheduler says which share this is: none of {} is set; give i/n", names);
}

Result<ShareNumber> share_from_text(std::string_view text) {
  const size_t slash = text.find('/');
  const auto index = number_of(text.substr(0, slash));
  const auto count =
      slash == std::string_view::npos ? std::nullopt : number_of(text.substr(slash + 1));
  if (index && count) return checked({*index, *count}, escaped(text));
  return failure(ErrorCode::invalid_argument,
                 "\"{}\" is not auto or a share such as 0/8, the first of 8", escaped(text));
}

}  // namespace dequant::format
