// What the safetensors reader says of many files, and files as the writer makes them; for
// test_safetensors.py.
//
//   safetensors_probe read <FILES           a line for each path: "ok", or the code and the
//   sentence safetensors_probe list FILE             a line for each tensor, then one for each
//   metadata key safetensors_probe rewrite FILE NEW      the tensors and metadata of FILE, written
//   by NewHeader
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "format/io/errors.h"
#include "format/io/output.h"
#include "format/safetensors/header.h"
#include "format/safetensors/writer.h"

namespace dequant::format::safetensors {
namespace {

Result<Header> read(const std::string& path) {
  DEQUANT_TRY(const InputFile file, InputFile::open(path));
  return Header::read(file);
}

Status judge(std::istream& paths) {
  for (std::string path; std::getline(paths, path);) {
    const auto header = read(path);
    if (header) {
      std::cout << "ok\n";
    } else {
      std::cout << name(header.error().code) << ": " << header.error().message << '\n';
    }
  }
  return {};
}

Status list(const std::string& path) {
  DEQUANT_TRY(const Header header, read(path));
  for (const Tensor& t : header.tensors()) {
    const std::vector<int64_t> shape(t.shape.begin(), t.shape.end());
    std::cout << nlohmann::json{t.name, t.dtype->name, shape, t.offset, t.bytes} << '\n';
  }
  for (const MetadataPair& pair : header.metadata()) {
    std::cout << nlohmann::json{pair.key(), pair.value()} << '\n';
  }
  return {};
}

Status rewrite(const std::string& path, const std::string& to) {
  DEQUANT_TRY(const InputFile file, InputFile::open(path));
  DEQUANT_TRY(const Header header, Header::read(file));
  std::vector<NewTensor> tensors;
  for (const Tensor& t : header.tensors()) {
    tensors.push_back({std::string(t.name), t.dtype, {t.shape.begin(), t.shape.end()}});
  }
  NewMetadata metadata;
  for (const MetadataPair& pair : header.metadata())
    metadata.emplace_back(pair.key(), pair.value());
  DEQUANT_TRY(const NewHeader made, NewHeader::make(tensors, metadata));
  DEQUANT_TRY(OutputFile out, OutputFile::create(to, Overwrite::refuse));
  DEQUANT_CHECK(out.write(made.bytes()));
  for (const size_t i : made.order()) {
    const Tensor& t = header.tensors()[i];
    if (out.size() != made.offset(i)) return failure(ErrorCode::io, "another offset");
    std::vector<std::byte> data(static_cast<size_t>(t.bytes));
    DEQUANT_CHECK(file.read(t.offset, data));
    DEQUANT_CHECK(out.write(data));
  }
  if (out.size() != made.file_size()) return failure(ErrorCode::io, "another size");
  return out.commit();
}

Status run(const std::vector<std::string>& arguments) {
  if (arguments == std::vector<std::string>{"read"}) return judge(std::cin);
  if (arguments.size() == 2 && arguments[0] == "list") return list(arguments[1]);
  if (arguments.size() == 3 && arguments[0] == "rewrite")
    return rewrite(arguments[1], arguments[2]);
  return failure(ErrorCode::invalid_argument, "read | list FILE | rewrite FILE NEW");
}

}  // namespace
}  // namespace dequant::format::safetensors

int main(int count, char** arguments) {
  const auto done = dequant::format::safetensors::run({arguments + 1, arguments + count});
  if (done) return 0;
  std::fprintf(stderr, "safetensors_probe: %s\n", done.error().message.c_str());
  return 1;
}
