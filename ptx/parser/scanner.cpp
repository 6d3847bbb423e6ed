// Module text ▶ items, skipping bodies, in one pass over the bytes.
#include <algorithm>
#include <charconv>
#include <limits>
#include <string>
#include <utility>

#include "ptx/parser/cursor.h"
#include "ptx/parser/declaration.h"
#include "ptx/parser/parser.h"

namespace lynxpp::ptx {
namespace {

class Scanner {
 public:
  explicit Scanner(Module& module)
      : module_(module), cursor_(module.source(), 0, static_cast<std::uint32_t>(module.source().size())) {}

  void scan() {
    while (!cursor_.failed() && !cursor_.at_end()) scan_item();
    if (cursor_.failed()) return;
    if (!has_version_) {
      cursor_.fail_at(0, "the text has no .version directive",
                      "PTX begins with '.version 8.0', '.target sm_80'");
    } else if (module_.target_text.empty()) {
      cursor_.fail_at(0, "the text has no .target directive", "write '.target sm_75' after .version");
    }
  }

  const std::optional<Diagnostic>& error() const { return cursor_.error(); }

 private:
  void scan_item() {
    const std::uint32_t begin = cursor_.position();
    if (cursor_.text().substr(begin).starts_with("@@")) return scan_debug_line(begin);
    if (cursor_.peek() != '.') {
      cursor_.fail("expected a directive instead of " + cursor_.describe_next());
      return;
    }
    const Linkage linkage = parse_linkage(cursor_);
    const std::uint32_t keyword_place = cursor_.position();
    const std::string_view keyword = cursor_.directive();
    if (keyword == ".entry" || keyword == ".func") {
      scan_function(begin, linkage, keyword == ".entry");
    } else if (space_of_directive(keyword) != StateSpace::none) {
      cursor_.move_to(keyword_place);
      scan_variables(linkage, begin);
    } else if (keyword.empty() || keyword_place != begin) {
      cursor_.fail_at(keyword_place, "expected .entry, .func or a state space after the linkage");
    } else {
      scan_directive(keyword, begin);
    }
  }

  /// A declaration of several names is one item; it refers to the first of them.
  void scan_variables(const Linkage& linkage, std::uint32_t begin) {
    std::vector<Declarator> declarators = parse_variable_declaration(cursor_, linkage, begin);
    if (cursor_.failed()) return;
    add_item(ItemKind::variable, {begin, cursor_.end_of_last()}, module_.variables.size());
    for (Declarator& declarator : declarators) module_.variables.push_back(std::move(declarator.variable));
  }

  void scan_function(std::uint32_t begin, const Linkage& linkage, bool is_entry) {
    Function function;
    function.is_entry = is_entry;
    function.is_extern = linkage.is_extern;
    function.is_visible = linkage.is_visible;
    function.is_weak = linkage.is_weak;
    function.line = line_of(begin);
    skip_attributes();
    if (cursor_.peek() == '(') function.returns = parse_parameter_list(cursor_);
    const std::uint32_t name_begin = cursor_.position();
    function.name = std::string(cursor_.identifier());
    if (function.name.empty()) {
      cursor_.fail("expected a function name instead of " + cursor_.describe_next());
      return;
    }
    function.name_text = {name_begin, cursor_.end_of_last()};
    if (!scan_header_end(function)) return;
    function.text = {begin, cursor_.end_of_last()};
    add_item(ItemKind::function, function.text, module_.functions.size());
    module_.functions.push_back(std::move(function));
  }

  void skip_attributes() {
    while (cursor_.accept_directive(".attribute")) {
      if (cursor_.peek() == '(') cursor_.skip_group();
    }
  }

  /// Scans parameters and performance directives, whatever their names, from after the name to the end of the
  /// body or the semicolon of a declaration. The semicolon of a .pragma ends only the pragma.
  bool scan_header_end(Function& function) {
    bool in_pragma = false;
    while (!cursor_.failed()) {
      const std::uint32_t place = cursor_.position();
      if (cursor_.at_end()) {
        cursor_.fail("the header of '" + function.name + "' is followed by neither a body nor ';'");
      } else if (cursor_.peek() == '(' && function.parameter_list.empty() && !in_pragma) {
        function.parameters = parse_parameter_list(cursor_);
        function.parameter_list = {place, cursor_.end_of_last()};
      } else if (cursor_.peek() == '{') {
        cursor_.skip_group();
        if (cursor_.failed()) return false;
        function.body_text = {place, cursor_.end_of_last()};
        return true;
      } else if (cursor_.accept(';')) {
        if (!in_pragma) return true;
        in_pragma = false;
      } else if (const std::string_view directive = cursor_.directive(); !directive.empty()) {
        in_pragma = directive == ".pragma";
      } else {
        skip_directive_argument(function);
      }
    }
    return false;
  }

  void skip_directive_argument(const Function& function) {
    if (cursor_.quoted() || !cursor_.word().empty() || cursor_.accept(',')) return;
    if (cursor_.failed()) return;
    if (cursor_.peek() == '(') {
      cursor_.skip_group();
    } else {
      cursor_.fail("unexpected " + cursor_.describe_next() + " in the header of '" + function.name + "'");
    }
  }

  void scan_directive(std::string_view keyword, std::uint32_t begin) {
    if (keyword == ".version") {
      scan_version();
    } else if (keyword == ".target") {
      scan_target();
    } else if (keyword == ".address_size") {
      scan_address_size();
    } else if (keyword == ".file") {
      scan_file();
    } else if (keyword == ".section") {
      scan_section();
    } else if (keyword == ".alias") {
      scan_alias();
    } else {
      skip_unknown_directive();
    }
    if (cursor_.failed()) return;
    add_item(ItemKind::directive, {begin, std::max(begin, cursor_.end_of_last())}, 0, keyword);
  }

  void scan_version() {
    const std::uint32_t place = cursor_.position();
    const std::string_view word = cursor_.word();
    const char* const end = word.data() + word.size();
    const auto major = std::from_chars(word.data(), end, module_.version.major);
    bool valid = major.ec == std::errc{} && major.ptr != end && *major.ptr == '.';
    if (valid) {
      const auto minor = std::from_chars(major.ptr + 1, end, module_.version.minor);
      valid = minor.ec == std::errc{} && minor.ptr == end;
    }
    if (!valid) {
      cursor_.fail_at(place, "expected a version such as 8.0");
    } else if (std::exchange(has_version_, true)) {
      cursor_.fail_at(place, "a second .version directive",
                      "the text holds several modules; pass them one by one");
    } else {
      module_.version_text = {place, cursor_.end_of_last()};
    }
  }

  void scan_target() {
    const std::uint32_t place = cursor_.position();
    bool has_architecture = false;
    do {
      const std::string_view word = cursor_.word();
      if (word.empty()) cursor_.fail("expected a target instead of " + cursor_.describe_next());
      if (cursor_.failed()) return;
      if (word.starts_with("sm_")) has_architecture = read_architecture(word.substr(3));
    } while (cursor_.accept(','));
    const TextRange text{place, cursor_.end_of_last()};
    if (!module_.target_text.empty()) {
      // Another line extends the first one: `.target texmode_independent`. It keeps its position.
      if (has_architecture) cursor_.fail_at(place, "a second architecture");
      module_.target.text += ", " + std::string(module_.text(text));
      return;
    }
    module_.target_text = text;
    module_.target.text = std::string(module_.text(text));
    if (!has_architecture) cursor_.fail_at(place, "expected a target such as sm_90 or sm_90a");
  }

  bool read_architecture(std::string_view digits) {
    const char* const end = digits.data() + digits.size();
    const auto [rest, error] = std::from_chars(digits.data(), end, module_.target.sm);
    if (error != std::errc{} || end - rest > 1) return false;
    module_.target.suffix = rest == end ? '\0' : *rest;
    return true;
  }

  void scan_address_size() {
    const std::uint32_t place = cursor_.position();
    const auto bits = cursor_.integer();
    if (cursor_.failed()) return;
    if (!bits || (*bits != 32 && *bits != 64)) {
      cursor_.fail_at(place, "the address size must be 32 or 64");
      return;
    }
    module_.address_size = static_cast<int>(*bits);
  }

  void scan_file() {
    const auto index = cursor_.integer();
    if (cursor_.failed()) return;
    const auto path = cursor_.quoted();
    if (cursor_.failed()) return;
    if (!index || !path || *index > std::numeric_limits<std::uint32_t>::max()) {
      cursor_.fail("expected a declaration such as .file 1 \"kernel.cu\"");
      return;
    }
    while (cursor_.accept(',')) {  // timestamp and size
      if (!cursor_.integer()) {
        cursor_.fail("expected a number instead of " + cursor_.describe_next());
        return;
      }
    }
    module_.files.push_back({static_cast<std::uint32_t>(*index), std::string(*path)});
  }

  void scan_section() {
    if (cursor_.directive().empty()) cursor_.identifier();
    if (cursor_.peek() == '{') {
      cursor_.skip_group();
    } else {
      cursor_.fail("expected '{' after the name of a section instead of " + cursor_.describe_next());
    }
  }

  void scan_alias() {
    Alias alias;
    alias.name = cursor_.identifier();
    const bool is_pair = !alias.name.empty() && cursor_.accept(',');
    if (is_pair) alias.function = cursor_.identifier();
    if (alias.function.empty() || !cursor_.accept(';')) {
      cursor_.fail("expected a declaration such as .alias other_name, function;");
      return;
    }
    module_.aliases.push_back(alias);
  }

  /// Skips .pragma and unknown directives: up to `;`, to the end of a group in braces, or to a line that
  /// begins with a dot or `@@`.
  void skip_unknown_directive() {
    while (!cursor_.failed()) {
      const std::uint32_t before = cursor_.end_of_last();
      const std::uint32_t next = cursor_.position();
      const bool new_line = cursor_.text().substr(before, next - before).find('\n') != std::string_view::npos;
      const char c = cursor_.peek();
      if (cursor_.at_end() || (new_line && (c == '.' || c == '@'))) return;
      if (cursor_.accept(';')) return;
      if (c == '{' || c == '(' || c == '[') {
        cursor_.skip_group();
        if (c == '{') return;
      } else if (c == '"') {
        cursor_.quoted();
      } else if (!cursor_.accept(c)) {
        return;
      }
    }
  }

  /// `@@DWARF …`: debug data in PTX 1.x and 2.x.
  void scan_debug_line(std::uint32_t begin) {
    cursor_.skip_line();
    const auto end =
        static_cast<std::uint32_t>(std::min(cursor_.text().find('\n', begin), cursor_.text().size()));
    add_item(ItemKind::directive, {begin, end}, 0, cursor_.text().substr(begin, std::min(7U, end - begin)));
  }

  void add_item(ItemKind kind, TextRange text, std::size_t index, std::string_view name = {}) {
    module_.items.push_back({kind, text, static_cast<std::uint32_t>(index), name});
  }

  /// Positions must ascend, so that each newline is counted once.
  std::uint32_t line_of(std::uint32_t position) {
    const std::string_view between = cursor_.text().substr(counted_to_, position - counted_to_);
    line_ += count_newlines(between);
    counted_to_ = position;
    return line_;
  }

  Module& module_;
  Cursor cursor_;
  bool has_version_ = false;
  std::uint32_t line_ = 1;
  std::uint32_t counted_to_ = 0;
};

}  // namespace

Result<Module> parse_module(std::string text, const std::string& name) {
  while (!text.empty() && text.back() == '\0') text.pop_back();
  if (text.size() >= std::numeric_limits<std::uint32_t>::max()) {
    return failure_at({name, 1, 1, 1}, "PTX text of 4 GiB or more is not supported");
  }
  Module module(std::move(text));
  Scanner scanner(module);
  scanner.scan();
  if (scanner.error()) {
    Diagnostic diagnostic = *scanner.error();
    diagnostic.location.file = name;
    return Failure{{std::move(diagnostic)}};
  }
  module.index_names();
  return module;
}

}  // namespace lynxpp::ptx
