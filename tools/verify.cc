// `dequant verify`: checks a float model against the quantized model that it was made from.
#include "format/diff/verify.h"

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "format/formats.h"
#include "format/io/errors.h"
#include "tools/commands.h"
#include "tools/common.h"
#include "tools/json_text.h"
#include "tools/memory.h"
#include "tools/reading_options.h"
#include "tools/table.h"

namespace dequant::tools {
namespace {

using format::escaped;
using format::Verification;
using format::WrongTensor;
using nlohmann::ordered_json;

struct VerifyArguments {
  std::string quantized;  ///< with --audit the float model
  std::optional<std::string> floats;
  std::optional<std::string> audit;
  ReadingOptions reading;
  bool json = false;
  bool quiet = false;
  Resources resources;
};

/// Why no mistake is named, where the tensor was not searched, or not all of it.
std::string search_text(const WrongTensor& t) {
  const format::Explained& e = t.explained;
  if (e.too_large)
    return "not searched for known mistakes, as what is stored takes more than an eighth of --mem";
  const bool all = e.looked_at.end - e.looked_at.begin == t.elements;
  if (all || e.looked_at.end == 0) return "no known mistake explains it";
  return fmt::format("no known mistake explains it (searched in elements {} to {})",
                     e.looked_at.begin, e.looked_at.end - 1);
}

/// Why a tensor differs, as far as that is known.
std::string explanation_text(const WrongTensor& t) {
  if (const auto& e = t.explained.explanation) {
    std::string text(e->mistake.what);
    if (e->unexplained > 0) text += fmt::format("; {} elements differ otherwise", e->unexplained);
    return text;
  }
  if (!t.reason.empty()) return t.reason;
  if (!t.type.empty())
    return fmt::format("element {} of type {} is the first that differs", *t.first, t.type);
  return fmt::format("{}; element {} is the first that differs: {}, not {}", search_text(t),
                     *t.first, t.found, t.right);
}

void print_text(const VerifyArguments& o, const Verification& v) {
  using enum Align;
  if (!v.wrong.empty()) {
    Table table({{"tensor"}, {"elements", right}, {"differ", right}, {"because"}});
    for (const WrongTensor& t : v.wrong) {
      table.add({escaped(t.name), fmt::format("{}", t.elements),
                 t.reason.empty() ? fmt::format("{}", t.different) : "-", explanation_text(t)});
    }
    fmt::print("{}\n", table.text());
  }
  for (const std::string& name : v.missing)
    fmt::print("{} is not in {}\n", escaped(name), escaped(*o.floats));
  for (const std::string& name : v.unexpected)
    fmt::print("{} is only in {}\n", escaped(name), escaped(*o.floats));
  fmt::print(
      "{} tensors compared ({} dequantized, {} elements): {} right, {} wrong, {} missing, {} "
      "unexpected\n",
      v.verified, v.dequantized, v.elements, v.verified - static_cast<int64_t>(v.wrong.size()),
      v.wrong.size(), v.missing.size(), v.unexpected.size());
  if (v.quantized > 0)
    fmt::print("{} of them are still quantized in {}\n", v.quantized, escaped(*o.floats));
  if (v.other_type > 0) {
    fmt::print("{} of them are stored as floats of another type in {}\n", v.other_type,
               escaped(*o.floats));
  }
}

void print_json(const VerifyArguments& o, const Verification& v) {
  ordered_json j{{"quantized", o.quantized}, {"float", *o.floats}, {"good", v.good()}};
  j["wrong"] = ordered_json::array();
  for (const WrongTensor& t : v.wrong) {
    const auto& e = t.explained.explanation;
    const dequant::Range& searched = t.explained.looked_at;
    const bool stored = !t.type.empty();
    const bool floats = t.first && !stored;
    j["wrong"].push_back(
        {{"name", t.name},
         {"elements", t.elements},
         {"different", t.different},
         {"reason", t.reason},
         {"type", stored ? ordered_json(t.type) : ordered_json()},
         {"first_different", t.first ? ordered_json(*t.first) : ordered_json()},
         {"right", floats ? number(t.right) : ordered_json()},
         {"found", floats ? number(t.found) : ordered_json()},
         {"mistake", e ? ordered_json(e->mistake.key) : ordered_json()},
         {"unexplained", e ? ordered_json(e->unexplained) : ordered_json()},
         {"looked_at",
          searched.end == 0 ? ordered_json() : ordered_json({searched.begin, searched.end})},
         {"explanation", explanation_text(t)}});
  }
  j["missing"] = v.missing;
  j["unexpected"] = v.unexpected;
  j["totals"] = {{"compared", v.verified},     {"dequantized", v.dequantized},
                 {"stored", v.stored},         {"still_quantized", v.quantized},
                 {"other_type", v.other_type}, {"elements", v.elements},
                 {"wrong", v.wrong.size()}};
  fmt::print("{}\n", json_text(j, 0));
}

void print_text(const VerifyArguments& o, const format::AuditReport& r) {
  if (!r.wrong.empty()) {
    Table table({{"tensor"}, {"because"}});
    for (const auto& t : r.wrong) table.add({escaped(t.name), t.reason});
    fmt::print("{}\n", table.text());
  }
  for (const std::string& name : r.missing)
    fmt::print("{} is not in {}\n", escaped(name), escaped(o.quantized));
  for (const std::string& name : r.unexpected)
    fmt::print("{} is only in {}\n", escaped(name), escaped(o.quantized));
  fmt::print("{} tensors read ({}): {} right, {} wrong, {} missing, {} unexpected\n", r.tensors,
             human_bytes(r.bytes), r.tensors - static_cast<int64_t>(r.wrong.size()), r.wrong.size(),
             r.missing.size(), r.unexpected.size());
}

void print_json(const VerifyArguments& o, const format::AuditReport& r) {
  ordered_json j{{"audit", *o.audit}, {"float", o.quantized}, {"good", r.good()}};
  j["wrong"] = ordered_json::array();
  for (const auto& t : r.wrong) j["wrong"].push_back({{"name", t.name}, {"reason", t.reason}});
  j["missing"] = r.missing;
  j["unexpected"] = r.unexpected;
  j["totals"] = {{"tensors", r.tensors}, {"bytes", r.bytes}, {"wrong", r.wrong.size()}};
  fmt::print("{}\n", json_text(j, 0));
}

/// `keep_unknown`: codes that nothing says how to dequantize are kept, whatever the user gave.
Result<std::unique_ptr<format::ModelFile>> open(const std::string& path, const VerifyArguments& o,
                                                bool keep_unknown = false) {
  at_work_on(path);
  format::OpenOptions options{o.resources.structure_memory(), {}, o.reading.given()};
  options.where_known.set_if(keep_unknown, "keep-unknown");
  return format::open_model(format::formats(), path, options);
}

/// Calls compare(const format::Progress&) -> Result of a report, and prints the report.
template <class Compare>
Result<int> show(const VerifyArguments& o, Compare compare) {
  auto progress = std::make_unique<Progress>("verifying", o.quiet);
  DEQUANT_TRY(const auto report, compare(std::ref(*progress)));
  progress.reset();
  if (o.json) {
    print_json(o, report);
  } else if (!o.quiet) {
    print_text(o, report);
  }
  return report.good() ? kDone : kDifferences;
}

Result<int> run(VerifyArguments& o) {
  if (o.audit.has_value() == o.floats.has_value()) {
    return format::failure(
        ErrorCode::invalid_argument,
        "verify compares QUANTIZED with FLOAT, or with --audit one model with its audit");
  }
  // An audit compares bytes: whether these are codes is not asked.
  DEQUANT_TRY(const auto quantized, open(o.quantized, o, o.audit.has_value()));
  if (o.audit) {
    DEQUANT_CHECK(
        format::check_where_known(format::formats(), o.reading.given(), *quantized, *quantized));
    return show(o, [&](const format::Progress& progress) {
      return quantized->check_audit(*o.audit, progress);
    });
  }
  // Integers of a float model may look like codes, as those that GGUF files have beside blocks.
  DEQUANT_TRY(const auto floats, open(*o.floats, o, true));
  DEQUANT_CHECK(
      format::check_where_known(format::formats(), o.reading.given(), *quantized, *floats));
  return show(o, [&](const format::Progress& progress) {
    return format::verify(*quantized, *floats, {o.resources.stream_options(), progress});
  });
}

}  // namespace

void add_verify(const Command& app, int& exit_code) {
  auto o = std::make_shared<VerifyArguments>();
  const Command c = app.add_subcommand(
      "verify", "Check a float model against the quantized model it was made from");
  c.add_option("QUANTIZED", o->quantized,
               "Quantized model or checkpoint; with --audit the output of convert")
      .required();
  c.add_option("FLOAT", o->floats, "Float model or checkpoint, made by any program");
  c.add_option(
       "--audit", o->audit,
       "Read the output of convert again, and compare it with the file that convert --audit "
       "wrote")
      .type_name("FILE");
  o->reading.add_to(c);
  c.add_flag("-q,--quiet", o->quiet, "Print nothing but errors and warnings");
  c.add_flag("--json", o->json, "Print the report as one JSON object");
  o->resources.add_to(c);
  c.footer(
      "Examples:\n"
      "  dequant verify DeepSeek-V3 DeepSeek-V3-bf16\n"
      "  dequant verify quantized.safetensors float.safetensors --json\n"
      "  dequant verify --audit audit.jsonl DeepSeek-V3-bf16\n"
      "\n"
      "Every tensor is computed in the type that FLOAT has it in, and compared bit by bit, as are\n"
      "the stored bytes of integers, booleans and other tensors that both checkpoints have; of "
      "ONNX\n"
      "models only those of float64. For a tensor that differs, known mistakes are tried: a scale\n"
      "left out, inverted or applied twice, zero points off by one, codes swapped, another block\n"
      "size, a transposed tensor, roundings.\n"
      "The exit code is 1 where a tensor differs or is missing in either model.");
  c.callback([o, &exit_code] {
    const auto code = run(*o);
    exit_code = code ? *code : report(code.error());
  });
}

}  // namespace dequant::tools
