// `dequant vectors`: writes conformance cases with the bits of the scalar reference.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "conformance/cases/cases.h"
#include "conformance/vectors/vectors.h"
#include "dequant/isa.h"
#include "format/io/errors.h"
#include "format/io/output.h"
#include "tools/commands.h"
#include "tools/files.h"
#include "tools/json_text.h"
#include "tools/table.h"

namespace dequant::tools {
namespace {

using conformance::vectors::Vector;
using format::escaped;
using nlohmann::ordered_json;

struct VectorsArguments {
  conformance::vectors::Request request;
  std::string output;
  bool dry_run = false;
  bool force = false;
  bool json = false;
};

/// Counts of refusals by rule, and of all other cases by operator, type and granularity.
struct Counts {
  std::map<std::pair<std::string, std::string>, std::map<std::string, int64_t>> types;
  std::map<std::string, int64_t> granularities;
  std::map<std::string, int64_t> rules;
  int64_t refusals = 0;
};

Counts count(const std::vector<Vector>& vectors) {
  Counts counts;
  for (const Vector& v : vectors) {
    if (!v.c.rule.empty()) {
      ++counts.rules[v.c.rule];
      ++counts.refusals;
      continue;
    }
    ++counts.types[{v.c.operator_name, v.type}][v.granularity];
    ++counts.granularities[v.granularity];
  }
  return counts;
}

int64_t found_in(const std::map<std::string, int64_t>& counts, const std::string& key) {
  const auto found = counts.find(key);
  return found == counts.end() ? 0 : found->second;
}

void print_table(const Counts& counts) {
  std::vector<Table::Column> columns{{"type"}};
  for (const auto& [granularity, n] : counts.granularities) {
    columns.push_back({granularity, Align::right});
  }
  Table table(std::move(columns));
  for (const auto& [key, by_granularity] : counts.types) {
    const auto& [operator_name, type] = key;
    std::vector<std::string> row{operator_name.empty() ? type : operator_name + " " + type};
    for (const auto& [granularity, n] : counts.granularities) {
      row.push_back(std::to_string(found_in(by_granularity, granularity)));
    }
    table.add(std::move(row));
  }
  Table refusals({{"to be refused"}, {"cases", Align::right}});
  for (const auto& [rule, n] : counts.rules) refusals.add({rule, std::to_string(n)});
  fmt::print("{}\n{}\n", table.text(), refusals.text());
}

void print_json(const VectorsArguments& o, size_t cases, const Counts& counts, size_t bytes) {
  ordered_json types = ordered_json::array();
  for (const auto& [key, by_granularity] : counts.types) {
    ordered_json row = ordered_json::object();
    if (!key.first.empty()) row["operator"] = key.first;
    row["type"] = key.second;
    row["granularities"] = by_granularity;
    types.push_back(std::move(row));
  }
  const ordered_json all{{"output", o.output.empty() ? ordered_json() : ordered_json(o.output)},
                         {"dry_run", o.dry_run},
                         {"dialect", o.request.dialect},
                         {"version", o.request.version},
                         {"seed", o.request.seed},
                         {"random", o.request.random},
                         {"cases", cases},
                         {"refusals", counts.refusals},
                         {"bytes", bytes},
                         {"types", types},
                         {"rules", counts.rules}};
  fmt::print("{}\n", json_text(all));
}

Status write(const VectorsArguments& o, const std::string& text) {
  DEQUANT_TRY(format::OutputFile out,
              format::OutputFile::create(
                  o.output, o.force ? format::Overwrite::replace : format::Overwrite::refuse));
  DEQUANT_CHECK(out.write(text));
  return out.commit();
}

Status run(VectorsArguments& o) {
  if (o.output.empty() && !o.dry_run) {
    return format::failure(ErrorCode::invalid_argument, "give -o FILE, or --dry-run");
  }
  if (!o.dry_run) DEQUANT_CHECK(format::OutputFile::check_folder(o.output));
  if (o.request.version.empty()) {
    o.request.version = conformance::vectors::newest_version(o.request.dialect);
  }
  // The scalar reference, which defines the results of all targets.
  DEQUANT_CHECK(force_target("reference"));
  DEQUANT_TRY(const auto vectors, conformance::vectors::make(o.request));
  const std::string text = conformance::vectors::to_json(o.request, vectors);
  if (text.size() > static_cast<size_t>(conformance::kMaxCaseFile)) {
    return format::failure(ErrorCode::limit,
                           "{} bytes are more than the {} that `dequant check` reads; ask for less "
                           "than -n {}",
                           text.size(), conformance::kMaxCaseFile, o.request.random);
  }
  if (!o.dry_run) DEQUANT_CHECK(write(o, text));
  const Counts counts = count(vectors);
  if (o.json) {
    print_json(o, vectors.size(), counts, text.size());
    return {};
  }
  if (o.dry_run) print_table(counts);
  fmt::print("{} cases of {} {}, {} of them to be refused: {}{}\n", vectors.size(),
             o.request.dialect, o.request.version, counts.refusals,
             human_bytes(static_cast<int64_t>(text.size())),
             o.dry_run ? std::string() : " in " + escaped(o.output));
  return {};
}

}  // namespace

void add_vectors(const Command& app, int& exit_code) {
  auto o = std::make_shared<VectorsArguments>();
  const Command c = app.add_subcommand("vectors", "Make conformance cases with the expected bits");
  c.add_option("DIALECT", o->request.dialect,
               "onnx, microsoft, tensorflow, directml, webnn, or a scheme of checkpoints as in "
               "`dequant op --help`")
      .required();
  c.add_option("--version", o->request.version,
               "Opset (10 to 28), 1.4 or 2 of tensorflow, feature level (1_0 to 6_4); default: the "
               "newest, of onnx 28")
      .type_name("V");
  c.add_option("--seed", o->request.seed, "Seed of the random cases and of the data of all cases")
      .type_name("S")
      .capture_default_str();
  c.add_option("-n,--random", o->request.random,
               "Random cases, after those of every type, granularity, edge and refusal")
      .type_name("N")
      .capture_default_str();
  c.add_option("-o,--output", o->output, "The case file to write, .json")
      .type_name("FILE")
      .check(not_standard_output);
  c.add_flag("--dry-run", o->dry_run, "Count by type and granularity, but write nothing");
  c.add_flag("-f,--force", o->force, "Replace the output if it exists");
  c.add_flag("--json", o->json, "Print one JSON object instead");
  c.footer(
      "Examples:\n"
      "  dequant vectors onnx -o onnx.json\n"
      "  dequant vectors directml --version 6_2 --seed 7 -n 1000 -o directml.json\n"
      "  dequant vectors tensorflow --version 1.4 -n 0 --dry-run\n"
      "\n"
      "The same dialect, version, seed and N give the same bytes on every machine. `dequant check` "
      "runs\n"
      "the file; docs/cases.md describes it, docs/vectors.md how to run it elsewhere.");
  c.callback([o, &exit_code] {
    if (auto status = run(*o); !status) exit_code = report(status.error());
  });
}

}  // namespace dequant::tools
