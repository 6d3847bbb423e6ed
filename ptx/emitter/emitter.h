// IR ▶ text: the original bytes with a list of edits applied; without edits, the bytes are unchanged.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ptx/ir/code.h"
#include "ptx/ir/code_builder.h"
#include "ptx/ir/module.h"

namespace lynxpp::ptx {

/// Replaces `range` with `content`; an empty range inserts before range.begin.
struct Edit {
  TextRange range;
  /// Text is inserted verbatim; code is put on lines of its own, wherever the range begins and ends.
  std::variant<std::string, Code, CodeOperand, std::vector<CodeFunction>> content;

  /// Null if the content is of another kind.
  const std::string* text() const { return std::get_if<std::string>(&content); }
  const Code* code() const { return std::get_if<Code>(&content); }
  /// Number of instructions of code and functions; text counts as 0.
  std::size_t instructions() const;
};

/// Edits collected by passes. Insertions at the same position keep the order in which they were added. Edits
/// inside a replaced range are dropped; otherwise replacements must not overlap.
class EditList {
 public:
  void insert_before(std::uint32_t position, std::string text) {
    edits_.push_back({{position, position}, std::move(text)});
  }
  /// Empty code adds no edit.
  void insert_before(std::uint32_t position, Code code) {
    if (!code.empty()) edits_.push_back({{position, position}, std::move(code)});
  }
  /// Inserts between items of the module.
  void insert_before(std::uint32_t position, std::vector<CodeFunction> functions) {
    if (!functions.empty()) edits_.push_back({{position, position}, std::move(functions)});
  }
  void replace(TextRange range, std::string text) { edits_.push_back({range, std::move(text)}); }
  void replace(TextRange range, Code code) { edits_.push_back({range, std::move(code)}); }
  void replace(TextRange range, CodeOperand operand) { edits_.push_back({range, std::move(operand)}); }
  void erase(TextRange range) { edits_.push_back({range, std::string()}); }
  const std::vector<Edit>& edits() const { return edits_; }
  /// Returns the first `count` edits with the names of all.
  EditList first(std::size_t count) const {
    EditList list = *this;
    list.edits_.erase(list.edits_.begin() + static_cast<std::ptrdiff_t>(count), list.edits_.end());
    return list;
  }
  bool empty() const { return edits_.empty(); }

  /// Numbers the registers and labels of code added to the function, which has a body. The registers are
  /// declared after its opening brace. The reference stays valid.
  NameSource& names(const Function& function) { return names_[function.body_text.begin]; }
  /// Keyed by the position of the function's opening brace.
  const std::map<std::uint32_t, NameSource>& names() const { return names_; }

 private:
  std::vector<Edit> edits_;
  std::map<std::uint32_t, NameSource> names_;
};

/// Returns the module's text with all edits applied.
std::string emit(const Module& module, const EditList& edits);
/// Returns the text of one range with the edits inside it applied. An insertion belongs to the byte after it,
/// so one at range.end is not inside.
std::string emit_range(const Module& module, TextRange range, const EditList& edits);

}  // namespace lynxpp::ptx
