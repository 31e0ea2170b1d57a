// `dequant bench`: measures the speed of the cells of the kernel table, and compares it with
// ceilings.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "bench/measure/meter.h"
#include "dequant/isa.h"
#include "format/io/errors.h"
#include "tools/bench_report.h"
#include "tools/commands.h"
#include "tools/terminal_line.h"

namespace dequant::tools {
namespace {

using bench::Cell;
using bench::Filter;

struct BenchArguments {
  Filter filter;
  std::vector<uint64_t> elements{uint64_t{256} << 10, uint64_t{256} << 20};
  std::vector<std::string> threads{"1"};
  int repeat = 5;
  std::string target;
  double below = 0;
  bool json = false;
  bool list = false;

  bool selects() const {
    return !filter.cells.empty() || !filter.inputs.empty() || !filter.outputs.empty() ||
           !filter.granularities.empty() || !filter.rules.empty();
  }
};

/// Defaults of options that are not given. A cell or a rule that is named is measured for every
/// input, as rules with ranges have other cells.
Filter completed(Filter filter) {
  if (!filter.cells.empty() || !filter.rules.empty()) return filter;
  const Filter usual = Filter::usual();
  if (filter.inputs.empty()) filter.inputs = usual.inputs;
  if (filter.granularities.empty()) filter.granularities = usual.granularities;
  filter.rules = usual.rules;
  return filter;
}

Result<int> parse_threads(const std::string& text) {
  if (text == "all") return 0;
  int threads = 0;
  const bool digits =
      !text.empty() && text.size() <= 4 &&
      std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (digits) threads = std::stoi(text);
  if (threads < 1) {
    return format::failure(ErrorCode::invalid_argument,
                           "--threads: {} is neither all nor 1 to 9999", format::escaped(text));
  }
  return threads;
}

/// All points to measure, in the order of the report: sizes, threads, cells.
Result<std::vector<Point>> measure_all(const BenchArguments& o, const std::vector<Cell>& cells,
                                       const std::vector<int>& threads) {
  std::vector<Point> points;
  bench::Meter meter;
  TerminalLine line;  // the cell that is being measured
  const size_t count = o.elements.size() * threads.size() * cells.size();
  for (const uint64_t elements : o.elements) {
    for (const int t : threads) {
      for (const Cell& cell : cells) {
        line.show(fmt::format("{}/{} {}", points.size() + 1, count, cell.name));
        DEQUANT_TRY(auto m, meter.measure(cell, static_cast<int64_t>(elements), {t, o.repeat}));
        points.push_back({cell, t, static_cast<int64_t>(elements), m});
      }
    }
  }
  return points;
}

/// Checks the memory of all cells before the first is measured.
Status check_memory(const BenchArguments& o, const std::vector<Cell>& cells) {
  const int64_t available = bench::available_memory();
  for (const uint64_t elements : o.elements) {
    for (const Cell& cell : cells) {
      DEQUANT_TRY(const int64_t need,
                  bench::bytes_needed(cell.plan(static_cast<int64_t>(elements))));
      if (need > available) {
        return format::failure(
            ErrorCode::out_of_memory,
            "{} with {} elements takes {}, but this machine has {} free; ask for "
            "fewer --elements",
            cell.name, elements, human_bytes(need), human_bytes(available));
      }
    }
  }
  return {};
}

/// Adds the neighbours of cliffs, with which these are compared; in the order of all cells.
std::vector<Cell> with_neighbours(const std::vector<Cell>& cells) {
  std::set<std::string> wanted;
  for (const Cell& cell : cells) wanted.insert({cell.name, cell.neighbour});
  std::vector<Cell> both;
  for (Cell& cell : bench::all_cells()) {
    if (wanted.count(cell.name) != 0) both.push_back(std::move(cell));
  }
  return both;
}

void say_what_is_usual(const BenchArguments& o, size_t cells) {
  const bool default_sizes = o.elements == BenchArguments().elements && o.threads.size() == 1;
  fmt::print(stderr,
             "{} cells: uint8, int4 and float8e4m3fn with every output and every granularity of "
             "nodes{}; --help says how to choose others, --cell '*' is all {}\n",
             cells, default_sizes ? ", about two minutes" : "", bench::all_cells().size());
}

Result<int> run(const BenchArguments& o) {
  if (!o.target.empty()) DEQUANT_CHECK(force_target(o.target));
  std::vector<int> threads;
  for (const std::string& text : o.threads) {
    DEQUANT_TRY(const int t, parse_threads(text));
    threads.push_back(t);
  }
  for (const uint64_t elements : o.elements) {
    if (elements < 1 || elements > uint64_t{1} << 40) {
      return format::failure(ErrorCode::invalid_argument, "--elements: {} is not in 1 to 1Ti",
                             elements);
    }
  }
  DEQUANT_TRY(std::vector<Cell> cells, bench::select(completed(o.filter)));
  if (o.list) {
    print_cells(cells, o.json);
    return int{kDone};
  }
  cells = with_neighbours(cells);
  DEQUANT_CHECK(check_memory(o, cells));
  if (!o.selects()) say_what_is_usual(o, cells.size());
  DEQUANT_TRY(const auto points, measure_all(o, cells, threads));
  const auto below = points_below(points, o.below);
  if (o.json) {
    print_json(points, below, o.below);
  } else {
    print_table(points);
    print_below(below, o.below);
  }
  return below.empty() ? int{kDone} : int{kDifferences};
}

}  // namespace

void add_bench(const Command& app, int& exit_code) {
  auto o = std::make_shared<BenchArguments>();
  const Command c = app.add_subcommand("bench", "Measure speed, in percent of what memory allows");
  const auto names = [&](const char* option, std::vector<std::string>& to, const char* help) {
    c.add_option(option, to, help).type_name("GLOB,...").delimiter(',').one_value();
  };
  names("--input", o->filter.inputs, "Only these types of x");
  names("--output", o->filter.outputs, "Only these types of y");
  names("--granularity", o->filter.granularities, "Only these granularities, or placements");
  names("--rule", o->filter.rules, "Only these rules, of all inputs");
  names("--cell", o->filter.cells, "Only cells of these names; --list shows them");
  c.add_option("--elements", o->elements, "Sizes; default 256Ki (in the caches) and 256Mi (beyond)")
      .size()
      .type_name("N,...")
      .delimiter(',')
      .one_value();
  c.add_option("-T,--threads", o->threads, "Numbers of threads; \"all\": one for each processor")
      .type_name("N,...")
      .delimiter(',')
      .one_value()
      .capture_default_str();
  c.add_option("--repeat", o->repeat, "Rounds of ceiling and cell, whose median counts")
      .between(1, 10000)
      .type_name("N")
      .capture_default_str();
  c.add_option("--target", o->target, "Instruction set, such as avx2; default: the best");
  c.add_option("--below", o->below, "Exit with 1 if a cell has less than this of its ceiling")
      .positive()
      .type_name("PERCENT");
  c.add_flag("--json", o->json, "Print one JSON object instead of a table");
  c.add_flag("--list", o->list, "Print the names of the cells, measure nothing");
  c.footer(
      "Examples:\n"
      "  dequant bench --cell 'uint8/*/per_tensor' --elements 256Mi\n"
      "  dequant bench --input 'u*,float4*' --output float16 --threads 1,all --below 95\n"
      "  dequant bench --rule 'min_*' --target avx2 --json\n"
      "  dequant bench --cell 'cliff/uint8/*'\n"
      "\n"
      "docs/performance.md says what a ceiling is. Exits with 1 when a cell is --below.");
  c.callback([o, &exit_code] {
    const auto code = run(*o);
    if (code) {
      exit_code = *code;
    } else {  // it may have a name that the user gave
      const Error& e = code.error();
      exit_code = report({e.code, format::escaped(e.message, std::string::npos)});
    }
  });
}

}  // namespace dequant::tools
