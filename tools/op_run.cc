// Running a planned operation, and writing its output file and report.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "format/io/errors.h"
#include "format/io/room.h"
#include "format/npy/npy.h"
#include "tools/files.h"
#include "tools/json_text.h"
#include "tools/op.h"
#include "tools/table.h"

namespace dequant::tools {
namespace {

using format::escaped;
using nlohmann::ordered_json;

/// The type of the output file: numpy has no bfloat16, so float32, which has all its numbers.
Element stored_element(const Operation& op) {
  return op.plan.output == Element::bfloat16 ? Element::float32 : op.plan.output;
}

/// The header of the output file, and the bytes of the whole file.
struct Target {
  std::string header;
  int64_t elements = 0;
  int64_t bytes = 0;
};

Result<Target> target_of(const Operation& op) {
  Target target;
  target.header = format::npy_header(stored_element(op), op.y_shape);
  DEQUANT_TRY(target.elements, element_count(Shape(op.y_shape)));
  DEQUANT_TRY(const int64_t data, packed_bytes(stored_element(op), target.elements));
  target.bytes = static_cast<int64_t>(target.header.size()) + data;
  return target;
}

Status run_plan(const Operation& op, std::span<std::byte> y, const RunOptions& options) {
  const auto bytes_of = [&](std::string_view name) -> std::span<const std::byte> {
    for (const OpTensor& t : op.inputs) {
      if ((t.buffer.empty() ? std::string_view(t.name) : t.buffer) == name) return t.bytes;
    }
    return {};
  };
  const Buffers buffers{.x = bytes_of("x"),
                        .scale = bytes_of("scale"),
                        .zero_point = bytes_of("zero_point"),
                        .y = y,
                        .min_range = bytes_of("min_range"),
                        .max_range = bytes_of("max_range"),
                        .tensor_scale = bytes_of("tensor_scale"),
                        .group_index = bytes_of("group_index"),
                        .codebook = op.codebook.empty() ? bytes_of("codebook") : op.codebook,
                        .names = &op.names};
  auto done = run(op.plan, buffers, options);
  if (!done) return format::in(op.dialect, std::move(done).error());
  return {};
}

format::Overwrite overwrite_of(const OpOptions& o) {
  return o.force ? format::Overwrite::replace : format::Overwrite::refuse;
}

Status write_data(format::OutputFile& out, Element element, std::span<const std::byte> y) {
  if (element != Element::bfloat16) return out.write(y);
  constexpr size_t kChunk = size_t{1} << 20;
  std::vector<std::byte> wide;
  for (size_t at = 0; at < y.size(); at += kChunk) {
    widen_bfloat16(y.subspan(at, std::min(kChunk, y.size() - at)), wide);
    DEQUANT_CHECK(out.write(wide));
  }
  return {};
}

/// Checks everything that can fail because of the file system before the work.
Status produce(Operation& op, OpOptions& o, const Target& target,
               std::vector<std::string>& warnings) {
  DEQUANT_TRY(format::OutputFile out, format::OutputFile::create(o.output, overwrite_of(o)));
  DEQUANT_CHECK(out.reserve(target.bytes));
  for (OpTensor& tensor : op.inputs) DEQUANT_CHECK(load(tensor, warnings));
  DEQUANT_TRY(const int64_t size, packed_bytes(op.plan.output, target.elements));
  std::vector<std::byte> y(static_cast<size_t>(size));  // zeros, which gaps keep
  RunOptions options;
  options.executor = o.threads.executor();
  DEQUANT_CHECK(run_plan(op, y, options));
  DEQUANT_CHECK(out.write(target.header));
  DEQUANT_CHECK(write_data(out, op.plan.output, y));
  return out.commit();
}

void print_text(const Operation& op, const OpOptions& o, const Target& target) {
  fmt::print("{}: {}\n", op.dialect, to_string(op.plan));
  Table table({{"tensor"}, {"type"}, {"shape"}, {"file"}});
  for (const OpTensor& t : op.inputs) {
    table.add({t.name, std::string(name(t.element)), shape_text(t.shape),
               escaped(t.file.empty() ? t.numbers : t.file)});
  }
  std::string type(name(op.plan.output));
  if (stored_element(op) != op.plan.output) type += fmt::format(" as {}", name(stored_element(op)));
  table.add({"y", type, shape_text(op.y_shape), escaped(o.output)});
  fmt::print("{}{} ({}){}\n", table.text(), escaped(o.output), human_bytes(target.bytes),
             o.dry_run ? ", not written (--dry-run)" : "");
}

void print_json(const Operation& op, const OpOptions& o, const Target& target,
                const std::vector<std::string>& warnings) {
  ordered_json j{{"dialect", op.dialect}, {"dry_run", o.dry_run}, {"plan", to_string(op.plan)}};
  j["inputs"] = ordered_json::array();
  for (const OpTensor& t : op.inputs) {
    j["inputs"].push_back({{"name", t.name},
                           {"type", name(t.element)},
                           {"shape", t.shape},
                           {"file", t.file.empty() ? ordered_json() : ordered_json(t.file)}});
  }
  j["output"] = {{"type", name(op.plan.output)},
                 {"stored_type", name(stored_element(op))},
                 {"shape", op.y_shape},
                 {"file", o.output},
                 {"bytes", target.bytes}};
  j["warnings"] = warnings;
  fmt::print("{}\n", json_text(j));
}

/// What produce() refuses before the work.
Status check_output(const OpOptions& o, const Target& target) {
  DEQUANT_CHECK(format::OutputFile::check(o.output, overwrite_of(o)));
  return format::check_room(o.output, target.bytes);
}

}  // namespace

Status carry_out(Operation& op, OpOptions& o) {
  for (const OpTensor& t : op.inputs) DEQUANT_CHECK(check_apart(o.output, t.file));
  DEQUANT_TRY(const Target target, target_of(op));
  std::vector<std::string> warnings;
  DEQUANT_CHECK(o.dry_run ? check_output(o, target) : produce(op, o, target, warnings));
  for (const std::string& w : warnings) fmt::print(stderr, "dequant: warning: {}\n", w);
  if (o.json) {
    print_json(op, o, target, warnings);
  } else {
    print_text(op, o, target);
  }
  return {};
}

}  // namespace dequant::tools
