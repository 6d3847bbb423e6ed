#include "tests/support/golden_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <utility>

#include "support/text.h"

namespace lynxpp {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view section_mark = "// ---- ";

struct Line {
  std::size_t number;
  std::string text;  ///< without indentation
};

bool is_declaration_of_added_register(const std::string& line) {
  return line.starts_with(".reg ") && line.find("%lynxpp_") != std::string::npos;
}

std::vector<Line> lines_of(const std::string& text) {
  std::vector<Line> lines;
  std::istringstream stream(text);
  std::string line;
  for (std::size_t number = 1; std::getline(stream, line); ++number) {
    const std::size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string::npos || is_declaration_of_added_register(line.substr(begin))) continue;
    lines.push_back({number, line.substr(begin)});
  }
  return lines;
}

/// Joins changed lines of a basic block up to the width of a page.
class ChangeWriter {
 public:
  void keep(const Line& line) {
    kept_ = std::to_string(line.number) + ": " + line.text + "\n";
    last_.clear();
  }

  void change(char sign, const std::string& line) {
    text_ += std::exchange(kept_, "");
    const bool begins = last_.empty() || last_[0] != sign || last_.find("bra ") != std::string::npos ||
                        line.starts_with('$') || last_.size() + line.size() > 103;
    if (begins)
      text_ += last_ = std::string(1, sign);
    else
      text_.pop_back();
    last_ += " " + line;
    text_ += " " + line + "\n";
  }

  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::string kept_;  ///< the last unchanged line, unless it has been written
  std::string last_;  ///< the last line of the text, if it is a changed one
};

}  // namespace

std::string GoldenFile::value(const std::string& key) const {
  const std::string mark = "\n// " + key + ": ";
  const std::size_t begin = input.find(mark);
  if (begin == std::string::npos) return "";
  const std::size_t value = begin + mark.size();
  return input.substr(value, input.find('\n', value) - value);
}

GoldenFile read_golden(const std::string& path) {
  std::string text;
  EXPECT_TRUE(read_file(path, text)) << path;
  const std::size_t mark = text.find("\n" + std::string(section_mark));
  const std::size_t end = mark == std::string::npos ? text.size() : mark + 1;
  return {path, text.substr(0, end), text.substr(end)};
}

std::vector<std::string> golden_names(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".ptx") continue;
    names.push_back(fs::relative(entry.path(), folder).replace_extension().string());
  }
  std::ranges::sort(names);
  return names;
}

std::string golden_section(const std::string& name, const std::string& text) {
  if (text.empty()) return "";
  if (text.find('\n') == std::string::npos) return std::string(section_mark) + name + ": " + text + "\n";
  std::string section = std::string(section_mark) + name + "\n";
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) section += (line.empty() ? "//" : "// ") + line + "\n";
  return section;
}

std::string changed_lines(const std::string& before, const std::string& after) {
  const std::vector<Line> old = lines_of(before), now = lines_of(after);
  // common[i][j]: the length of the longest common subsequence of the lines from old[i] and from now[j] on
  std::vector<std::vector<std::size_t>> common(old.size() + 1, std::vector<std::size_t>(now.size() + 1));
  for (std::size_t i = old.size(); i-- > 0;) {
    for (std::size_t j = now.size(); j-- > 0;) {
      common[i][j] = old[i].text == now[j].text ? common[i + 1][j + 1] + 1
                                                : std::max(common[i + 1][j], common[i][j + 1]);
    }
  }
  ChangeWriter writer;
  for (std::size_t i = 0, j = 0; i < old.size() || j < now.size();) {
    if (i < old.size() && j < now.size() && old[i].text == now[j].text) {
      writer.keep(old[i]);
      ++i, ++j;
    } else if (j == now.size() || (i < old.size() && common[i + 1][j] >= common[i][j + 1])) {
      writer.change('-', old[i++].text);
    } else {
      writer.change('+', now[j++].text);
    }
  }
  return writer.text();
}

void expect_sections(const GoldenFile& file, const std::string& found) {
  if (std::getenv("LYNXPP_UPDATE_GOLDEN") != nullptr) {
    if (found != file.sections) write_file(file.path, file.input + found);
    return;
  }
  EXPECT_EQ(file.sections, found) << file.path << ": scripts/update_golden rewrites the sections";
}

}  // namespace lynxpp
