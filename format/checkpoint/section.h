// An object of a configuration: its members by type, and errors that name them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "dequant/status.h"

namespace dequant::format::checkpoint {

/// A JSON object that must outlive this one, or nothing, which has no members. A member that is
/// null counts as absent. All functions fail with malformed where a member has another type.
class Section {
 public:
  /// `where` is what messages call the object: "config.json".
  Section(const nlohmann::ordered_json* object, std::string_view where)
      : object_(object), where_(where) {}

  /// What messages call the object.
  const std::string& where() const { return where_; }

  /// The member, or null.
  const nlohmann::ordered_json* find(std::string_view key) const;
  bool has(std::string_view key) const { return find(key) != nullptr; }
  bool empty() const;
  /// False for a member that is absent, false, or an empty text, list or object.
  bool says_something(std::string_view key) const;

  Result<std::optional<int64_t>> integer(std::string_view key) const;
  Result<std::optional<bool>> flag(std::string_view key) const;
  Result<std::optional<std::string>> text(std::string_view key) const;
  Result<std::optional<double>> number(std::string_view key) const;
  Result<std::vector<int64_t>> integers(std::string_view key) const;  ///< empty: absent
  /// The object of a key, which may have no members.
  Result<Section> object(std::string_view key) const;

  /// An error about a member: "config.json: bits is 9, not " and what it must be. The key may be
  /// one of the document: it is escaped.
  Error wrong(std::string_view key, std::string_view what) const;

 private:
  const nlohmann::ordered_json* object_;
  std::string where_;
};

}  // namespace dequant::format::checkpoint
