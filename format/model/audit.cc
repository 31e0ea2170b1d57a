// Writing and reading the lines of an audit.
#include "format/model/audit.h"

#include <algorithm>

#include "format/json/json.h"

namespace dequant::format {
namespace {

constexpr size_t kMostOfLine = size_t{1} << 20;

}  // namespace

Result<AuditWriter> AuditWriter::create(const std::string& path, Overwrite overwrite) {
  DEQUANT_TRY(OutputFile out, OutputFile::create(path, overwrite));
  return AuditWriter(std::move(out));
}

Status AuditWriter::add(const nlohmann::ordered_json& tensor) {
  std::string line = tensor.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  line.push_back('\n');
  return out_.write(line);
}

Status read_audit(const std::string& path,
                  const std::function<Status(const nlohmann::json& tensor)>& visit) {
  DEQUANT_TRY(const InputFile file, InputFile::open(path));
  std::string text;  // whole lines that are not visited, and the begin of one
  int64_t number = 0;
  const auto visit_line = [&](std::string_view line) -> Status {
    ++number;
    auto tensor = parse_json(line);
    if (tensor && !tensor->is_object())
      tensor = failure(ErrorCode::malformed, "it is no JSON object");
    if (!tensor) return in(fmt::format("{}: line {}", escaped(path), number), tensor.error());
    return visit(*tensor);
  };
  for (int64_t done = 0; done < file.size();) {
    const size_t old = text.size();
    const auto size =
        static_cast<size_t>(std::min(file.size() - done, static_cast<int64_t>(kMostOfLine)));
    text.resize(old + size);
    DEQUANT_CHECK(file.read(done, std::as_writable_bytes(std::span(text).subspan(old))));
    done += static_cast<int64_t>(size);
    size_t begin = 0;
    for (size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
      DEQUANT_CHECK(visit_line(std::string_view(text).substr(begin, end - begin)));
    text.erase(0, begin);
    if (text.size() > kMostOfLine) {
      return failure(ErrorCode::malformed, "{}: line {} is longer than {} bytes", escaped(path),
                     number + 1, kMostOfLine);
    }
  }
  if (text.empty()) return file.check_unchanged();
  return failure(ErrorCode::malformed, "{}: its last line does not end: the file is cut off",
                 escaped(path));
}

}  // namespace dequant::format
