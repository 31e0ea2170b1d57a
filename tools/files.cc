// Output files of commands that write several files.
#include "tools/files.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "format/io/errors.h"
#include "format/io/output.h"

namespace dequant::tools {

bool is_folder(const std::string& path) {
  struct stat s {};
  return ::stat(path.c_str(), &s) == 0 && S_ISDIR(s.st_mode);
}

namespace {

Error no_folder(const std::string& path, int reason) {
  errno = reason == EEXIST ? ENOTDIR : reason;  // --force replaces no file by a folder
  return format::io_error("cannot make the folder {}", format::escaped(path));
}

}  // namespace

std::string not_standard_output(const std::string& path) {
  return path == "-" ? "nothing is written to standard output; ./- is a file of that name" : "";
}

Status check_output_folder(const std::string& path) {
  if (is_folder(path)) return format::OutputFile::check_folder(path + "/-");
  if (format::is_taken(path)) return no_folder(path, EEXIST);
  const size_t end = path.find_last_not_of('/');
  return format::OutputFile::check_folder(path.substr(0, end == path.npos ? 0 : end + 1));
}

Status make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0777) == 0) return {};
  const int reason = errno;
  return is_folder(path) ? Status() : no_folder(path, reason);
}

Status check_apart(const std::string& output, const std::string& input) {
  const format::FileIdentity there = format::identity_of(output);
  if (there.size < 0 || !there.same_file(format::identity_of(input))) return {};
  return format::failure(ErrorCode::io, "{} is an input; name another output",
                         format::escaped(output));
}

std::string numbered_name(size_t index, std::string_view tensor_name) {
  // Names come from files: only ASCII letters, digits, '_', '-' and '.' are kept.
  constexpr size_t kLongest = 100;
  std::string out = fmt::format("{:04}-", index);
  for (const char c : tensor_name.substr(0, kLongest)) {
    const bool harmless = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
    out += harmless ? c : '_';
  }
  return out;
}

void widen_bfloat16(std::span<const std::byte> codes, std::vector<std::byte>& floats) {
  floats.resize(codes.size() * 2);
  for (size_t i = 0; i < codes.size(); i += 2) {  // the lower 16 bits of each float stay zero
    std::memset(floats.data() + 2 * i, 0, 2);
    std::memcpy(floats.data() + 2 * i + 2, codes.data() + i, 2);
  }
}

format::TensorData numpy_ready(const format::TensorData& data) {
  if (data.element != Element::bfloat16) return data;
  format::TensorData out{Element::float32, data.shape, {}};
  widen_bfloat16(data.bytes, out.bytes);
  return out;
}

}  // namespace dequant::tools
