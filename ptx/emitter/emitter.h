// IR ▶ text. The original bytes with a list of edits applied; no edit, same bytes.
#pragma once

#include <string>
#include <vector>

#include "ptx/ir/module.h"

namespace lynxpp::ptx {

/// Replaces `range` (empty: inserts before range.begin) by `text`.
struct Edit {
  TextRange range;
  std::string text;
};

/// Edits collected by passes. Insertions at the same place keep the order in which they were added. What lies
/// inside a range that is replaced goes with it; replacements must not overlap otherwise.
class EditList {
 public:
  void insert_before(std::uint32_t position, std::string text) {
    edits_.push_back({{position, position}, std::move(text)});
  }
  void replace(TextRange range, std::string text) { edits_.push_back({range, std::move(text)}); }
  void erase(TextRange range) { edits_.push_back({range, {}}); }
  /// Other text for the edit at `index` of edits().
  void set_text(std::size_t index, std::string text) { edits_[index].text = std::move(text); }
  const std::vector<Edit>& edits() const { return edits_; }
  bool empty() const { return edits_.empty(); }

 private:
  std::vector<Edit> edits_;
};

/// The module's text with all edits applied.
std::string emit(const Module& module, const EditList& edits);
/// The text of one range with the edits that lie inside it applied. An insertion belongs to the byte it
/// stands before, so one at range.end is not inside.
std::string emit_range(const Module& module, TextRange range, const EditList& edits);

}  // namespace lynxpp::ptx
