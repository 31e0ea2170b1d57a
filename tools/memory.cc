#include "tools/memory.h"

#include <malloc.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>

#include "dequant/status.h"
#include "format/io/errors.h"
#include "tools/commands.h"

namespace dequant::tools {
namespace {

const std::string* file_at_work = nullptr;

[[noreturn]] void end_without_memory() {
  constexpr std::string_view kSentence = "dequant: error: out of memory\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kSentence.data(), kSentence.size());
  ::_exit(kMemory);
}

/// For exceptions in noexcept functions: destructors of the JSON library allocate memory.
[[noreturn]] void terminate() {
  try {
    if (const std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    end_without_memory();
  } catch (...) {
  }
  std::abort();
}

/// The parser's header and Highway's library have objects that allocate when the program is loaded.
/// The functions of this section run before their constructors.
[[gnu::used, gnu::section(".preinit_array")]] void (*const begin_loading)() = [] {
  std::set_new_handler(end_without_memory);
  std::set_terminate(terminate);
};

}  // namespace

void begin_command() {
  // Throwing needs memory too. The runtime reserves some for that when it is loaded, if there is
  // any.
  ::operator delete(::operator new(1024));
#ifdef M_ARENA_MAX
  // Otherwise each thread reserves 64 MiB of address space for few allocations.
  ::mallopt(M_ARENA_MAX, 1);
#endif
  std::set_new_handler(nullptr);
}

void at_work_on(const std::string& file) { file_at_work = &file; }

int report_no_memory() {
  const Error nameless{ErrorCode::out_of_memory, "out of memory"};  // needs no allocation
  if (file_at_work == nullptr) return report(nameless);
  try {
    return report(format::in(format::escaped(*file_at_work), nameless));
  } catch (const std::bad_alloc&) {
    return report(nameless);
  }
}

}  // namespace dequant::tools
