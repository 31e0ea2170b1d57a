// `dequant extract`: writes tensors of a model as .npy files.
#include "format/model/extract.h"

#include <fmt/format.h>

#include "format/formats.h"
#include "format/io/errors.h"
#include "format/io/output.h"
#include "format/npy/npy.h"
#include "tools/commands.h"
#include "tools/common.h"
#include "tools/files.h"
#include "tools/memory.h"
#include "tools/reading_options.h"
#include "tools/table.h"

namespace dequant::tools {
namespace {

using format::DenseTensor;
using format::escaped;
using format::Extractor;

struct ExtractArguments {
  std::string model;
  std::string name;
  std::string output;
  bool all = false;
  bool raw = false;
  std::string dtype;
  bool force = false;
  ReadingOptions reading;
  Resources resources;
};

/// Writes one tensor to an .npy file, chunk by chunk. bfloat16 becomes float32 unless raw; codes
/// under 8 bits get a byte each.
Status write_npy(format::ModelFile& file, const DenseTensor& tensor, const std::string& path,
                 const ExtractArguments& o, const format::StreamOptions& options) {
  const TensorType type = tensor.type();
  DEQUANT_CHECK(file.check_output(path));
  const bool widen = type.element == Element::bfloat16 && !o.raw;
  DEQUANT_TRY(format::OutputFile out,
              format::OutputFile::create(
                  path, o.force ? format::Overwrite::replace : format::Overwrite::refuse));
  DEQUANT_CHECK(out.write(format::npy_header(widen ? Element::float32 : type.element, type.shape)));
  DEQUANT_TRY(int64_t left, element_count(type.shape));
  std::vector<std::byte> bytes;
  const auto write = [&](std::span<const std::byte> part) -> Status {
    if (widen) {
      widen_bfloat16(part, bytes);
      return out.write(bytes);
    }
    if (bits(type.element) >= 8) return out.write(part);
    const int64_t held = static_cast<int64_t>(part.size()) * 8 / bits(type.element);
    bytes.resize(static_cast<size_t>(std::min(left, held)));
    left -= static_cast<int64_t>(bytes.size());
    DEQUANT_CHECK(unpack_codes(type.element, part, 0, bytes));
    return out.write(bytes);
  };
  DEQUANT_CHECK(format::stream(file, tensor, options, write));
  return out.commit();
}

/// Sets the output type of a tensor's plan to that of --dtype.
Status set_type(DenseTensor& tensor, const std::string& dtype) {
  if (dtype.empty()) return {};
  if (!tensor.recipe) {
    return format::failure(ErrorCode::invalid_argument,
                           "{}: it is stored as {}; --dtype is of tensors that are dequantized",
                           escaped(tensor.name), name(tensor.stored.type.element));
  }
  tensor.recipe->set_output(*element_from_name(dtype));
  return {};
}

Status run(ExtractArguments& o) {
  at_work_on(o.model);
  if (o.all == !o.name.empty()) {
    return format::failure(ErrorCode::invalid_argument,
                           "give either the name of a tensor or --all");
  }
  DEQUANT_CHECK(o.all ? check_output_folder(o.output) : format::OutputFile::check_folder(o.output));
  const auto stream = o.resources.stream_options();
  const format::OpenOptions open_options{o.resources.structure_memory(), o.reading.given()};
  DEQUANT_TRY(auto file, format::open_model(format::formats(), o.model, open_options));
  DEQUANT_TRY(const auto extractor, Extractor::open(std::move(file)));
  Table table({{"tensor"}, {"type"}, {"shape"}, {"file"}});
  const auto write = [&](DenseTensor tensor, const std::string& path) -> Status {
    DEQUANT_CHECK(set_type(tensor, o.dtype));
    DEQUANT_CHECK(write_npy(extractor->file(), tensor, path, o, stream));
    const TensorType type = tensor.type();
    table.add({escaped(tensor.name), std::string(name(type.element)), shape_text(type.shape),
               escaped(path)});
    return {};
  };
  if (o.all) {
    DEQUANT_TRY(const auto all, extractor->all(o.raw));
    DEQUANT_CHECK(make_folder(o.output));
    for (size_t i = 0; i < all.size(); ++i) {
      DEQUANT_CHECK(
          write(all[i], fmt::format("{}/{}.npy", o.output, numbered_name(i, all[i].name))));
    }
  } else {
    DEQUANT_TRY(const DenseTensor tensor, extractor->find(o.name, o.raw));
    DEQUANT_CHECK(write(tensor, o.output));
  }
  fmt::print("{}", table.text());
  return {};
}

}  // namespace

void add_extract(const Command& app, int& exit_code) {
  auto o = std::make_shared<ExtractArguments>();
  const Command c = app.add_subcommand("extract", "Write tensors of a model as .npy files");
  c.add_option("MODEL", o->model, "Model of any format").required();
  c.add_option("NAME", o->name, "Output, node or codes of a dequantization, or another constant");
  c.add_option("-o,--output", o->output,
               "File to write; with --all a folder, made if it is not there")
      .required()
      .check(not_standard_output);
  c.add_flag("--all", o->all, "Every dequantized constant");
  c.add_flag("--raw", o->raw, "The stored codes, not the numbers they stand for");
  c.add_option("--dtype", o->dtype,
               "Type of what is dequantized, rounded once from float32; default: that of the node")
      .one_of({"float32", "float16", "bfloat16"})
      .excludes(c.get_option("--raw"));
  c.add_flag("-f,--force", o->force, "Replace files that exist");
  o->reading.add_to(c);
  o->resources.add_to(c);
  c.footer(
      "Examples:\n"
      "  dequant extract model.onnx conv1.weight -o weight.npy\n"
      "  dequant extract model.onnx conv1.weight --raw -o codes.npy\n"
      "  dequant extract model.onnx conv1.weight -o weight.npy --dtype float16\n"
      "  dequant extract model.onnx --all -o weights\n"
      "\n"
      "bfloat16 is widened to float32, exactly; raw codes that numpy has no type for are one byte "
      "each\n"
      "(16 bits for bfloat16).");
  c.callback([o, &exit_code] {
    if (auto status = run(*o); !status) exit_code = report(status.error());
  });
}

}  // namespace dequant::tools
