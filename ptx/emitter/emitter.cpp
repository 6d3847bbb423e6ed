#include "ptx/emitter/emitter.h"

#include <algorithm>

#include "ptx/emitter/code_printer.h"

namespace lynxpp::ptx {
namespace {

/// Declarations of the registers that added code uses, after the opening braces.
std::vector<Edit> declarations_of(const EditList& edits) {
  std::vector<Edit> declarations;
  for (const auto& [brace, names] : edits.names()) {
    std::string text = print_declarations(names);
    if (text.empty()) continue;
    text.pop_back();
    declarations.push_back({{brace + 1, brace + 1}, "\n" + text});
  }
  return declarations;
}

/// Textual order; at equal positions insertions precede a replacement, otherwise the order of addition is
/// preserved.
std::vector<const Edit*> sorted(std::vector<const Edit*> edits) {
  std::ranges::stable_sort(edits, [](const Edit* left, const Edit* right) {
    if (left->range.begin != right->range.begin) return left->range.begin < right->range.begin;
    return left->range.empty() && !right->range.empty();
  });
  return edits;
}

/// Applies edits in order.
class EditWriter {
 public:
  EditWriter(std::string_view source, TextRange range)
      : source_(source), position_(range.begin), end_(range.end) {
    result_.reserve(range.end - range.begin);
  }

  void add(const Edit& edit) {
    if (edit.range.begin < position_) return;  // inside a replaced range
    copy_to(edit.range.begin);
    position_ = std::max(position_, edit.range.end);
    if (const std::string* const text = edit.text()) {
      result_ += *text;
    } else if (const Code* const code = edit.code()) {
      add_code(*code);
    } else if (const auto* const operand = std::get_if<CodeOperand>(&edit.content)) {
      result_ += print(*operand);
    } else {
      for (const CodeFunction& each : std::get<std::vector<CodeFunction>>(edit.content))
        result_ += print(each) + "\n";
    }
  }

  std::string finish() {
    copy_to(end_);
    return std::move(result_);
  }

 private:
  void copy_to(std::uint32_t end) {
    if (end <= position_) return;
    result_ += source_.substr(position_, end - position_);
    position_ = end;
  }

  /// Puts the code on lines of its own: ends the preceding line and starts a new one for the following text.
  void add_code(const Code& code) {
    if (code.empty()) return;
    const std::size_t last = result_.find_last_not_of(" \t");
    result_.resize(last == std::string::npos ? 0 : last + 1);
    if (!result_.empty() && result_.back() != '\n') result_ += '\n';
    result_ += print(code);
    const bool ends_line = position_ >= source_.size() || source_[position_] == '\n';
    if (ends_line) {
      result_.pop_back();
    } else {
      result_ += '\t';
    }
  }

  const std::string_view source_;
  std::uint32_t position_;
  const std::uint32_t end_;
  std::string result_;
};

std::string apply(std::string_view source, TextRange range, const std::vector<const Edit*>& edits) {
  EditWriter writer(source, range);
  for (const Edit* edit : edits) writer.add(*edit);
  return writer.finish();
}

}  // namespace

std::size_t Edit::instructions() const {
  if (const Code* const added = code()) return added->size();
  std::size_t sum = 0;
  if (const auto* const functions = std::get_if<std::vector<CodeFunction>>(&content)) {
    for (const CodeFunction& each : *functions) sum += each.code.size();
  }
  return sum;
}

std::string emit(const Module& module, const EditList& edits) {
  return emit_range(module, {0, static_cast<std::uint32_t>(module.source().size()) + 1}, edits);
}

std::string emit_range(const Module& module, TextRange range, const EditList& edits) {
  const std::vector<Edit> declarations = declarations_of(edits);
  std::vector<const Edit*> inside;
  const auto add = [&](const Edit& edit) {
    const bool is_inside =
        edit.range.begin >= range.begin && edit.range.end <= range.end && edit.range.begin < range.end;
    if (is_inside) inside.push_back(&edit);
  };
  std::ranges::for_each(declarations, add);
  std::ranges::for_each(edits.edits(), add);
  range.end = std::min(range.end, static_cast<std::uint32_t>(module.source().size()));
  return apply(module.source(), range, sorted(std::move(inside)));
}

}  // namespace lynxpp::ptx
