// Names and locks of temporary files.
#include "format/io/temporary.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <random>

#include "format/io/file.h"

namespace dequant::format {
namespace {

constexpr std::string_view kPrefix = ".dq-tmp-";
constexpr size_t kDigits = 16;

bool is_number(std::string_view text) {
  return text.size() == kDigits && text.find_first_not_of("0123456789abcdef") == text.npos;
}

}  // namespace

std::string start_of_system() {
  std::string digits;
  std::array<char, 64> text{};
  const Descriptor file(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  if (file.valid() && ::read(file.get(), text.data(), text.size()) > 0) {
    std::copy_if(text.begin(), text.end(), std::back_inserter(digits),
                 [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
  }
  digits.resize(kDigits, '0');
  return digits;
}

std::string temporary_name(Locking locking) {
  thread_local std::random_device random;
  const std::string own = fmt::format("{:08x}{:08x}", random(), random());
  if (locking == Locking::impossible) return fmt::format("{}{}", kPrefix, own);
  static const std::string start = start_of_system();
  return fmt::format("{}{}-{}", kPrefix, start, own);
}

std::optional<std::string_view> start_in(std::string_view name) {
  if (!name.starts_with(kPrefix)) return {};
  name.remove_prefix(kPrefix.size());
  if (is_number(name)) return "";
  if (name.size() != 2 * kDigits + 1 || name[kDigits] != '-') return {};
  const std::string_view start = name.substr(0, kDigits);
  if (!is_number(start) || !is_number(name.substr(kDigits + 1))) return {};
  return start;
}

bool lock(int fd) {
  while (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EINTR) return false;
  }
  return true;
}

}  // namespace dequant::format
