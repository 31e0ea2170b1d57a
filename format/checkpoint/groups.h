// What the stored tensors of a checkpoint are for: groups that become one dense tensor, tensors
// that the dense checkpoint does not need, and tensors that are copied.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "dequant/scheme.h"
#include "format/checkpoint/config.h"
#include "format/checkpoint/part.h"
#include "format/model/warnings.h"

namespace dequant::format::checkpoint {

/// Stored tensors that become one dense tensor.
struct Group : Inputs {
  std::string name;         ///< of the dense tensor
  std::string_view scheme;  ///< a literal: the name of a Scheme
  std::vector<int64_t> shape;
  std::optional<int64_t> axis = {};  ///< along which scales change, if there is only one
  Plan plan = {};
  /// The plans of all output types, where the arithmetic depends on the type.
  std::vector<Plan> variants = {};
};

/// A tensor by the name that its scheme gives it.
struct Named {
  std::string_view name;
  const Entry* entry;             ///< null: the tensor is not there, or is `part`
  std::optional<Part> part = {};  ///< what is not a stored tensor with the type of its file
};

/// A tensor that the dense checkpoint does not have.
struct Dropped {
  const Entry* entry;
  std::string_view reason;  ///< a literal
};

/// A quantized tensor in a layout that has a name and that dequant does not read.
struct Unread {
  const Entry* codes;
  std::vector<const Entry*> parts;  ///< what belongs to it, such as scales
  std::string reason;               ///< a sentence on the tensor
};

/// A tensor that is copied though it is quantized, and why nothing dequantizes it.
struct Unknown {
  const Entry* entry;
  std::string reason;
};

/// Collects what the schemes find. Each stored tensor has one use.
class Groups {
 public:
  Groups(const Shards& shards, const Config& config) : shards_(shards), config_(config) {}

  const Shards& shards() const { return shards_; }
  const Config& config() const { return config_; }

  /// The tensor of that name, or null.
  const Entry* find(std::string_view name) const { return shards_.find(name); }
  bool is_used(const Entry& entry) const { return uses_.contains(&entry); }

  /// The type that a dense tensor gets without another wish: what the model computes in, or else
  /// the type of its scales. Where neither is a float type of 16 or 32 bits it is float32, and
  /// asks_for_dtype() is true from then on.
  Element output_for(Element scale);
  bool asks_for_dtype() const { return asks_for_dtype_; }

  /// The group of a dense tensor whose plan plan_scheme() makes. Without another wish the tensor
  /// gets the type `output`, or else that of output_for(). Fails as plan_scheme() does.
  Result<Group> group_of(std::string name, std::string_view scheme, std::span<const Named> tensors,
                         std::span<const SchemeOption> options = {},
                         std::optional<Element> output = {});
  /// Adds this group. Fails as group_of() does, and as add(Group) does.
  Status add(std::string name, std::string_view scheme, std::span<const Named> tensors,
             std::span<const SchemeOption> options = {}, std::optional<Element> output = {});

  /// Adds a group. Fails with malformed where a tensor of it is used by another group, where the
  /// bytes of a tensor are not those that the plan needs, and where another tensor, stored or
  /// dense, has the name of the dense tensor.
  Status add(Group group);

  /// A tensor that is not needed. Fails with malformed where it is part of a group.
  Status drop(const Entry& entry, std::string_view reason);

  /// A tensor that stays as it is. Fails with malformed where a part of it has a use.
  Status leave(Unread tensor);

  /// Adds a sentence to the warnings of a conversion.
  void warn(std::string sentence) { warnings_.add(std::move(sentence)); }
  /// The same for a sentence that needs the data of tensors, or none if the function returns an
  /// empty one: it is called when a conversion begins.
  void warn_later(std::function<Result<std::string>()> sentence) {
    later_.push_back(std::move(sentence));
  }
  /// All sentences. Fails as the functions of warn_later() do.
  Result<Warnings> warnings() const;

  /// Decides on all tensors without a use, as decide_on() says. Fails where that refuses a tensor,
  /// unless `keep_unknown`: such tensors are copied then, and listed by unknown(), as are those of
  /// unread(). Warns as warning_of_integers() says.
  Status finish(bool keep_unknown);

  const std::deque<Group>& groups() const { return groups_; }
  const std::vector<Dropped>& dropped() const { return dropped_; }
  /// Tensors that finish() kept though nothing dequantizes them.
  const std::vector<Unknown>& unknown() const { return unknown_; }
  /// Tensors of leave() that finish() did not keep: only an output that does not select them has
  /// them.
  const std::vector<Unread>& unread() const { return unread_; }
  /// The one with these codes, or null.
  const Unread* unread_of(const Entry& codes) const;
  /// The group that becomes the dense tensor of that name, or null.
  const Group* find_group(std::string_view name) const;
  /// The group of a stored tensor if the tensor is its codes, else null.
  const Group* group_of_codes(const Entry& entry) const;
  /// True for a tensor that is in the dense checkpoint as it is stored.
  bool is_copied(const Entry& entry) const { return !uses_.contains(&entry); }

 private:
  Status use(const Entry& entry, const Group* group);
  /// Makes unread() part of unknown().
  void keep_unread();

  const Shards& shards_;
  const Config& config_;
  bool asks_for_dtype_ = false;
  std::deque<Group> groups_;
  std::unordered_map<std::string_view, const Group*> by_name_;
  std::vector<Dropped> dropped_;
  std::vector<Unknown> unknown_;
  std::vector<Unread> unread_;
  std::unordered_map<const Entry*, size_t> unread_by_codes_;
  Warnings warnings_;
  std::vector<std::function<Result<std::string>()>> later_;
  std::unordered_map<const Entry*, const Group*> uses_;  ///< null: dropped
};

}  // namespace dequant::format::checkpoint
