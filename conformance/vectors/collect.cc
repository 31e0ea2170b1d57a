// Every case is run before it is written, so that no file has a result that this library does not
// give.
#include "conformance/vectors/collect.h"

#include "conformance/vectors/compute.h"
#include "format/io/errors.h"

namespace dequant::conformance::vectors {
using format::failure;

Collector::Collector(std::string dialect, std::string version, uint64_t seed)
    : dialect_(std::move(dialect)), version_(std::move(version)), seed_(seed) {}

Random Collector::random(std::string_view name) const {
  return {seed_, fmt::format("{} {} {}", dialect_, version_, name)};
}

Case Collector::begin(std::string name) const {
  Case c;
  c.name = std::move(name);
  c.dialect = dialect_;
  c.version = version_;
  return c;
}

void Collector::accept(Case c, std::string granularity) {
  if (error_) return;
  auto y = compute(c);
  if (!y) return fail(c, "must be accepted, but is not", y.error());
  std::string type = c.inputs.at(std::string(codes_name(c.dialect))).type;
  std::string output = y->type;
  c.expect = *std::move(y);
  add({std::move(c), std::move(type), std::move(granularity), std::move(output)});
}

void Collector::refuse(Case c, const std::string& rule, std::string_view variant) {
  if (error_) return;
  c.name = fmt::format("reject/{}{}{}", rule, variant.empty() ? "" : "/", variant);
  c.rule = rule;
  const auto y = compute(c);
  if (y) return fail(c, "must be refused, but is not", {ErrorCode::unsupported, "y was computed"});
  const ErrorCode code = y.error().code;
  if (code != ErrorCode::invalid_argument && code != ErrorCode::unsupported) {
    return fail(c, "must be refused by its dialect, but is not", y.error());
  }
  std::string type = c.inputs.at(std::string(codes_name(c.dialect))).type;
  add({std::move(c), std::move(type), {}, {}});
}

void Collector::add(Vector vector) {
  if (!names_.insert(vector.c.name).second) {
    return fail(vector.c, "must have a name of its own, but does not",
                {ErrorCode::unsupported, "another case has it"});
  }
  vectors_.push_back(std::move(vector));
}

void Collector::fail(const Case& c, std::string_view what, const Error& error) {
  error_ = failure(ErrorCode::unsupported, "vectors of {} {}: case \"{}\" {}: {}", dialect_,
                   version_, c.name, what, error.message);
}

Result<std::vector<Vector>> Collector::finish() && {
  if (error_) return *std::move(error_);
  return std::move(vectors_);
}

}  // namespace dequant::conformance::vectors
