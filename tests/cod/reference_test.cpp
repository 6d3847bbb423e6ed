// docs/cod-reference.md is complete: it contains the grammar, and a row with cost and example for every
// label, extent and function.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>

#include "cod/syntax/api.h"
#include "support/text.h"
#include "tests/cod/conformance_fixture.h"

namespace lynxpp::cod {
namespace {

std::string text_of(const std::string& file) {
  std::string text;
  EXPECT_TRUE(read_file(std::string(LYNXPP_SOURCE_DIR) + "/" + file, text)) << file;
  return text;
}

// ---------------------------------------------------------------- grammar

using Words = std::vector<std::string>;

bool is_word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// The position after the quote or bracket that closes the one at `start`.
std::size_t end_of_quoted(const std::string& text, std::size_t start, char closing) {
  std::size_t end = start + 1;
  while (end < text.size() && text[end] != closing) end += text[end] == '\\' ? 2 : 1;
  return end + 1;
}

Words words_of(const std::string& text) {
  Words words;
  std::size_t i = 0;
  while (i < text.size()) {
    std::size_t end = i + 1;
    if (std::isspace(static_cast<unsigned char>(text[i])) != 0) {
      ++i;
      continue;
    }
    if (text.compare(i, 2, "//") == 0) {
      i = std::min(text.find('\n', i), text.size());
      continue;
    }
    if (text[i] == '\'') end = end_of_quoted(text, i, '\'');
    if (text[i] == '[') end = end_of_quoted(text, i, ']');
    while (is_word_character(text[i]) && end < text.size() && is_word_character(text[end])) ++end;
    words.push_back(text.substr(i, end - i));
    i = end;
  }
  return words;
}

using Grammar = std::map<std::string, Words>;

/// Reads ANTLR's notation without labels and commands, which are not part of the language.
Grammar grammar_of_parser() {
  Words words = words_of(text_of("cod/syntax/Cod.g4"));
  Grammar grammar;
  const auto tokens = std::find(words.begin(), words.end(), "tokens");
  words.erase(words.begin(), std::find(tokens, words.end(), "}") + 1);
  Words rule;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string next = i + 1 < words.size() ? words[i + 1] : std::string();
    if (words[i] == ";") {
      grammar[rule.at(0)] = Words(rule.begin() + 2, rule.end());
      rule.clear();
    } else if (words[i] == "#" || (words[i] == "-" && next == ">")) {
      i += words[i] == "#" ? 1 : 2;
    } else if (words[i] == "<") {
      i += 4;  // <assoc=right>
    } else if (next == "=") {
      ++i;  // op=
    } else {
      rule.push_back(words[i]);
    }
  }
  return grammar;
}

Grammar grammar_of_reference() {
  const Words words = words_of(text_of("docs/cod-grammar.ebnf"));
  Grammar grammar;
  std::string name;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool is_rule =
        i + 3 < words.size() && words[i + 1] == ":" && words[i + 2] == ":" && words[i + 3] == "=";
    if (is_rule) {
      name = words[i];
      EXPECT_FALSE(grammar.contains(name)) << name;
      grammar[name];
      i += 3;
    } else {
      grammar[name].push_back(words[i]);
    }
  }
  return grammar;
}

TEST(Reference, ContainsTheParsersGrammar) {
  const Grammar parser = grammar_of_parser();
  const Grammar reference = grammar_of_reference();
  EXPECT_GT(parser.size(), 35u);
  for (const auto& [name, words] : parser) {
    const auto found = reference.find(name);
    if (found == reference.end()) {
      ADD_FAILURE() << "docs/cod-grammar.ebnf lacks the rule " << name;
    } else {
      EXPECT_EQ(found->second, words) << name;
    }
  }
  for (const auto& [name, words] : reference) EXPECT_TRUE(parser.contains(name)) << "no such rule: " << name;
}

// ---------------------------------------------------------------- tables

struct Row {
  std::size_t line = 0;
  std::set<std::string> names;
  std::string cost;
  std::vector<std::string> examples;
};

Words cells_of(const std::string& line) {
  Words cells;
  std::string cell;
  for (std::size_t i = 1; i < line.size(); ++i) {
    if (line[i] == '\\' && i + 1 < line.size() && line[i + 1] == '|') {
      cell += line[++i];
    } else if (line[i] == '|') {
      cells.emplace_back(trim(cell));
      cell.clear();
    } else {
      cell += line[i];
    }
  }
  return cells;
}

/// The text between backquotes.
std::vector<std::string> code_of(const std::string& cell) {
  const std::vector<std::string> parts = split(cell, '`');
  std::vector<std::string> code;
  for (std::size_t i = 1; i < parts.size(); i += 2) code.push_back(parts[i]);
  return code;
}

/// The rows of all tables with a cost and an example.
std::vector<Row> rows() {
  std::vector<Row> rows;
  Words head;
  std::size_t number = 0;
  for (const std::string& line : split(text_of("docs/cod-reference.md"), '\n')) {
    ++number;
    const Words cells = line.starts_with("|") ? cells_of(line) : Words();
    if (cells.empty()) head.clear();
    if (cells.empty() || cells[0].starts_with("---")) continue;
    if (head.empty()) {
      head = cells;
      continue;
    }
    const auto example = std::find(head.begin(), head.end(), "example");
    const auto cost = std::find(head.begin(), head.end(), "cost");
    if (example == head.end() || cost == head.end()) continue;
    const std::size_t names = head[0] == "kind" ? 1 : 0;
    EXPECT_EQ(cells.size(), head.size()) << "line " << number;
    if (cells.size() != head.size()) continue;
    Row& row = rows.emplace_back();
    row.line = number;
    row.cost = cells[static_cast<std::size_t>(cost - head.begin())];
    row.examples = code_of(cells[static_cast<std::size_t>(example - head.begin())]);
    for (const std::string& code : code_of(cells[names])) {
      const auto end = std::find_if_not(code.begin(), code.end(), is_word_character);
      row.names.insert(std::string(code.begin(), end));
    }
  }
  return rows;
}

bool uses(const std::vector<std::string>& examples, const std::string& name) {
  return std::any_of(examples.begin(), examples.end(), [&](const std::string& example) {
    const Words words = words_of(example);
    return std::find(words.begin(), words.end(), name) != words.end();
  });
}

TEST(Reference, EveryNameHasACostAndAnExample) {
  std::map<std::string, const Row*> documented;
  const std::vector<Row> all = rows();
  for (const Row& row : all) {
    EXPECT_FALSE(row.cost.empty()) << "line " << row.line;
    for (const std::string& name : row.names) {
      EXPECT_TRUE(uses(row.examples, name)) << "line " << row.line << " has no example of " << name;
      documented[name] = &row;
    }
  }
  Words names = api_names();
  for (const Words& more : {label_names(), extent_names()})
    names.insert(names.end(), more.begin(), more.end());
  EXPECT_GT(names.size(), 100u);
  for (const std::string& name : names)
    EXPECT_TRUE(documented.contains(name)) << "the reference has no row with cost and example for " << name;
}

// ---------------------------------------------------------------- examples

constexpr const char* declarations =
    "global unsigned long count[INSTRUCTIONS];\n"
    "global unsigned long of_thread[THREADS];\n"
    "global unsigned long total;\n"
    "global trace unsigned long seen[1024];\n"
    "global histogram sizes[8];\n"
    "global map unsigned long uses[1024] by unsigned long;\n"
    "global unsigned int of_shared[SHARED_WORDS];\n"
    "global unsigned int of_device[DEVICE_WORDS];\n"
    "struct range {\n"
    "  unsigned int word;\n"
    "  unsigned int block;\n"
    "  unsigned int begin;\n"
    "  unsigned int end;\n"
    "  unsigned int left;\n"
    "  unsigned int accesses;\n"
    "};\n"
    "global trace struct range ranges[64];\n"
    "global unsigned long open[BLOCKS][SHARED_WORDS];\n"
    "global unsigned int left[BLOCKS][SHARED_WORDS];\n"
    "global unsigned int last[BLOCKS];\n"
    "shared unsigned long words[THREADS_PER_BLOCK];\n"
    "static const unsigned int weight[4] = {1, 2, 3, 4};\n"
    "host unsigned long all;\n"
    "unsigned int n;\n"
    "unsigned long x;\n\n";

/// One site of each kind that the examples select: a load, a store, a generic load, an access to shared
/// memory, a branch.
constexpr const char* kernel = R"(.version 8.0
.target sm_80
.address_size 64
.file 1 "src/kernel.cu"
.visible .entry k(.param .u64 in, .param .u64 out)
{
  .reg .pred %p;
  .reg .b32 %r<5>;
  .reg .b64 %rd<5>;
  .shared .align 4 .b8 tile[4096];
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd4, %rd1, %rd3;
  .loc 1 10 3
  ld.global.u32 %r2, [%rd4];
  ld.u32 %r3, [%rd4];
  mov.u32 %r4, tile;
  mad.lo.u32 %r4, %r1, 4, %r4;
  st.shared.u32 [%r4], %r3;
  setp.gt.u32 %p, %r1, 7;
  @%p bra $L_end;
  add.u32 %r2, %r2, %r3;
$L_end:
  add.s64 %rd4, %rd2, %rd3;
  st.global.u32 [%rd4], %r2;
  ret;
}
)";

Measured run(const std::string& source) { return measure_module(source, {{2, 1, 1}, {48, 1, 1}}, kernel); }

bool is_report(const Row& row) { return row.cost.starts_with("report"); }

std::string specification_of(const Row& row, const std::string& example) {
  if (example.starts_with("ON_")) return declarations + example;
  if (is_report(row)) return declarations + ("ON_REPORT: { " + example + " }");
  return declarations + ("ON_INSTRUCTION: MEM_READ: GLOBAL: { " + example + " }");
}

/// The same without the measured part: a sampling label, or a value replaced by a constant.
std::string without_example(const std::string& specification) {
  static const std::regex sampling(" (SAMPLE_\\w+|EVERY)\\(\\d+\\):");
  static const std::regex addition("\\b([nx]) \\+= [^;]*;");
  static const std::regex body("\\{[^{}]*\\}$");
  std::string text = std::regex_replace(specification, sampling, "");
  if (text == specification) text = std::regex_replace(specification, addition, "$1 += 7;");
  if (text == specification) text = std::regex_replace(specification, body, "{ }");
  return text;
}

/// True if the row's label only selects where code runs, as all labels but sampling do.
bool is_place(const Row& row) {
  const Words labels = label_names();
  const std::string name = *row.names.begin();
  const bool is_sample = name == "EVERY" || name.starts_with("SAMPLE_");
  return !is_sample && std::find(labels.begin(), labels.end(), name) != labels.end();
}

TEST(Reference, ShowsTheFileThatItsExamplesExtend) {
  EXPECT_NE(text_of("docs/cod-reference.md").find("```cod\n" + std::string(declarations)), std::string::npos);
}

TEST(Reference, ExamplesOfTheTablesRun) {
  for (const Row& row : rows()) {
    for (const std::string& example : row.examples) {
      const Measured measured = run(specification_of(row, example));
      EXPECT_EQ(measured.failure, "") << "line " << row.line << ": " << example;
      EXPECT_EQ(measured.dropped, 0u) << "line " << row.line << ": " << example;
    }
  }
}

/// "4, 6: why" ▶ 4 and 6.
std::vector<double> numbers_of(const std::string& cost) {
  static const std::regex number("(\\d+)(, )?");
  std::vector<double> numbers;
  std::smatch found;
  auto at = cost.begin();
  while (std::regex_search(at, cost.end(), found, number, std::regex_constants::match_continuous)) {
    numbers.push_back(std::stod(found[1]));
    at = found.suffix().first;
  }
  return numbers;
}

TEST(Reference, CostsMatchTheCode) {
  for (const Row& row : rows()) {
    if (is_report(row)) continue;
    const std::vector<double> numbers = numbers_of(row.cost);
    if (numbers.size() != 1 && numbers.size() != row.examples.size()) {
      ADD_FAILURE() << "line " << row.line
                    << ": a cost is a number for all or for each example, or 'report': " << row.cost;
      continue;
    }
    if (is_place(row)) {
      EXPECT_EQ(numbers[0], 0) << "line " << row.line;
      continue;
    }
    for (std::size_t i = 0; i < row.examples.size(); ++i) {
      const double written = numbers[std::min(i, numbers.size() - 1)];
      const std::string& example = row.examples[i];
      const std::string source = specification_of(row, example);
      const auto with = static_cast<double>(run(source).variant_instructions);
      const double cost = with - static_cast<double>(run(without_example(source)).variant_instructions);
      EXPECT_LE(std::abs(cost - written), std::max(2.0, written / 3))
          << "line " << row.line << ": '" << example << "' costs " << cost << " instructions, not "
          << row.cost;
    }
  }
}

}  // namespace
}  // namespace lynxpp::cod
