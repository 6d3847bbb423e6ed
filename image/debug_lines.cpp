#include "image/debug_lines.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "image/elf.h"

namespace lynxpp::image {
namespace {

/// Reads consecutive integers; past the end of the bytes it yields 0 and `ended()` is true.
class Reader {
 public:
  Reader(Bytes bytes, std::size_t at) : bytes_(bytes), at_(at) {}

  std::size_t position() const { return at_; }
  bool ended() const { return ended_; }
  void skip(std::uint64_t count) {
    ended_ |= count > bytes_.size() - std::min(at_, bytes_.size());
    at_ += ended_ ? 0 : count;
  }
  template <typename T>
  T fixed() {
    const auto value = load<T>(bytes_, at_);
    skip(sizeof(T));
    return value.value_or(T{});
  }
  std::uint64_t unsigned_number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; !ended_; shift += 7) {
      const auto byte = fixed<std::uint8_t>();
      if (shift < 64) value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) break;
    }
    return value;
  }
  std::int64_t signed_number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; !ended_;) {
      const auto byte = fixed<std::uint8_t>();
      if (shift < 64) value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      shift += 7;
      if ((byte & 0x80) != 0) continue;
      if ((byte & 0x40) != 0 && shift < 64) value |= ~std::uint64_t{0} << shift;
      break;
    }
    return static_cast<std::int64_t>(value);
  }
  std::string text() {
    std::string value;
    for (char c = fixed<char>(); c != '\0' && !ended_; c = fixed<char>()) value += c;
    return value;
  }

 private:
  Bytes bytes_;
  std::size_t at_;
  bool ended_ = false;
};

/// A line that applies to the instructions from `address` on.
struct Row {
  std::uint64_t address = 0;
  std::uint64_t file = 0;
  std::uint64_t line = 0;  ///< wraps around in damaged programs
};

/// The rows of one function.
struct Sequence {
  std::uint64_t address_at = 0;  ///< position in the section of the operand relocated to the function
  std::vector<Row> rows;
};

struct Unit {
  std::vector<std::string> files;  ///< paths; file 1 is the first
  std::vector<Sequence> sequences;
};

struct Header {
  std::uint64_t end = 0;  ///< end of the unit
  std::uint8_t least_instruction = 1;
  std::int8_t line_base = 0;
  std::uint8_t line_range = 1;
  std::vector<std::uint8_t> operands;  ///< of standard opcode i + 1
};

std::optional<Header> read_header(Reader& reader, Unit& unit) {
  Header header;
  const auto length = reader.fixed<std::uint32_t>();
  header.end = reader.position() + length;
  const auto version = reader.fixed<std::uint16_t>();
  const auto header_length = reader.fixed<std::uint32_t>();
  const std::uint64_t program = reader.position() + header_length;
  if (reader.ended() || version < 2 || version > 3 || program > header.end) return std::nullopt;
  header.least_instruction = reader.fixed<std::uint8_t>();
  reader.skip(1);  // default_is_stmt
  header.line_base = reader.fixed<std::int8_t>();
  header.line_range = reader.fixed<std::uint8_t>();
  const auto opcode_base = reader.fixed<std::uint8_t>();
  if (header.line_range == 0 || opcode_base == 0) return std::nullopt;
  for (unsigned i = 1; i < opcode_base; ++i) header.operands.push_back(reader.fixed<std::uint8_t>());
  std::vector<std::string> folders;
  for (std::string folder = reader.text(); !folder.empty(); folder = reader.text())
    folders.push_back(std::move(folder));
  for (std::string name = reader.text(); !name.empty(); name = reader.text()) {
    const std::uint64_t folder = reader.unsigned_number();
    reader.unsigned_number();
    reader.unsigned_number();
    const bool has_folder = folder != 0 && folder <= folders.size() && !name.starts_with('/');
    unit.files.push_back(has_folder ? folders[folder - 1] + "/" + name : name);
  }
  if (reader.ended() || reader.position() > program) return std::nullopt;
  reader.skip(program - reader.position());
  return header;
}

/// Runs the program of one unit. Returns false if it is damaged.
bool run_program(Reader& reader, const Header& header, Unit& unit) {
  constexpr std::size_t most_rows = 1 << 22;
  std::size_t rows = 0;
  Row row{0, 1, 1};
  Sequence sequence;
  const auto append = [&] {
    sequence.rows.push_back(row);
    return ++rows <= most_rows;
  };
  while (reader.position() < header.end && !reader.ended()) {
    const auto opcode = reader.fixed<std::uint8_t>();
    if (opcode > header.operands.size()) {
      const unsigned adjusted = opcode - static_cast<unsigned>(header.operands.size()) - 1;
      row.address += std::uint64_t{adjusted / header.line_range} * header.least_instruction;
      row.line += static_cast<std::uint64_t>(std::int64_t{header.line_base} + adjusted % header.line_range);
      if (!append()) return false;
      continue;
    }
    switch (opcode) {
      case 0: {
        const std::uint64_t size = reader.unsigned_number();
        if (size == 0) return false;
        const auto extended = reader.fixed<std::uint8_t>();
        if (extended == 2) {
          sequence.address_at = reader.position();
          row.address = 0;  // relative to the function, to which the operand is relocated
        }
        if (extended == 1) {
          unit.sequences.push_back(std::exchange(sequence, {}));
          row = {0, 1, 1};
        }
        reader.skip(size - 1);
        break;
      }
      case 1:
        if (!append()) return false;
        break;
      case 2: row.address += reader.unsigned_number() * header.least_instruction; break;
      case 3: row.line += static_cast<std::uint64_t>(reader.signed_number()); break;
      case 4: row.file = reader.unsigned_number(); break;
      case 8:
        row.address +=
            std::uint64_t{(255U - header.operands.size() - 1) / header.line_range} * header.least_instruction;
        break;
      case 9: row.address += reader.fixed<std::uint16_t>(); break;
      default:
        for (unsigned i = 0; i < header.operands[opcode - 1U]; ++i) reader.unsigned_number();
    }
  }
  return !reader.ended();
}

std::vector<Unit> units_of(Bytes section) {
  std::vector<Unit> units;
  for (std::size_t at = 0; at < section.size();) {
    Reader reader(section, at);
    Unit& unit = units.emplace_back();
    const std::optional<Header> header = read_header(reader, unit);
    if (!header || header->end > section.size() || header->end <= at || !run_program(reader, *header, unit))
      return {};
    at = header->end;
  }
  return units;
}

/// Returns the symbol that is relocated at each position of a section.
std::map<std::uint64_t, std::uint32_t> symbols_of(Bytes relocations) {
  constexpr std::size_t entry_size = 24;
  std::map<std::uint64_t, std::uint32_t> symbols;
  for (std::size_t at = 0; at + entry_size <= relocations.size(); at += entry_size) {
    const auto position = *load<std::uint64_t>(relocations, at);
    symbols[position] = static_cast<std::uint32_t>(*load<std::uint64_t>(relocations, at + 8) >> 32);
  }
  return symbols;
}

/// A line table of the cubin, and the function of each sequence.
struct Table {
  std::vector<Unit> units;
  std::map<std::uint64_t, std::uint32_t> symbols;

  std::optional<std::uint32_t> symbol_of(const Sequence& sequence) const {
    const auto found = symbols.find(sequence.address_at);
    return found != symbols.end() ? std::optional(found->second) : std::nullopt;
  }
};

struct SourceLine {
  std::string file;
  std::uint64_t line = 0;
};

/// Returns the row that contains `address`: the last one that does not begin after it.
const Row* row_at(const std::vector<Row>& rows, std::uint64_t address) {
  const auto after = std::ranges::upper_bound(rows, address, {}, &Row::address);
  return after == rows.begin() ? nullptr : &*(after - 1);
}

using Lines = std::map<std::uint64_t, SourceLine>;  ///< by PTX line

/// Joins the tables of a unit by address: the source line of each PTX line.
Lines joined(const Unit& ptx, const Table& ptx_table, const Table& source) {
  std::map<std::uint32_t, std::pair<const Unit*, const Sequence*>> of_symbol;
  for (const Unit& unit : source.units) {
    for (const Sequence& sequence : unit.sequences) {
      if (const auto symbol = source.symbol_of(sequence)) of_symbol[*symbol] = {&unit, &sequence};
    }
  }
  constexpr std::uint64_t greatest_line = 0x7fffffff;
  Lines lines;
  for (const Sequence& sequence : ptx.sequences) {
    const auto symbol = ptx_table.symbol_of(sequence);
    const auto found = symbol ? of_symbol.find(*symbol) : of_symbol.end();
    if (found == of_symbol.end()) continue;
    const auto& [unit, rows] = found->second;
    for (const Row& row : sequence.rows) {
      const Row* const location = row_at(rows->rows, row.address);
      if (location == nullptr || location->file == 0 || location->file > unit->files.size() ||
          location->line == 0 || location->line > greatest_line)
        continue;
      lines.try_emplace(row.line, SourceLine{unit->files[location->file - 1], location->line});
    }
  }
  return lines;
}

bool is_empty(std::string_view line) { return line.find_first_not_of(" \t\r") == std::string_view::npos; }

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// Follows a text line by line and tracks whether the next line is inside a function's body.
class Bodies {
 public:
  bool is_inside() const { return depth_ > 0 && is_function_; }

  void pass(std::string_view line) {
    const auto holds = [&](std::string_view word) { return line.find(word) != std::string_view::npos; };
    if (depth_ == 0) {
      if (holds(".entry") || holds(".func")) is_function_ = true;
      if (holds(".section")) is_function_ = false;
    }
    const auto number_of = [&](char c) { return static_cast<int>(std::ranges::count(line, c)); };
    depth_ = std::max(0, depth_ + number_of('{') - number_of('}'));
    if (depth_ == 0 && (holds(";") || holds("}"))) is_function_ = false;
  }

 private:
  int depth_ = 0;
  bool is_function_ = false;
};

/// Returns the text with .loc in the last empty line before each run of lines inside a function.
std::string with_locations(std::string_view text, const Lines& known) {
  std::map<std::string, std::size_t> files;
  std::string result;
  Bodies bodies;
  const std::vector<std::string_view> lines = lines_of(text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    bodies.pass(lines[i]);
    const bool begins_run = bodies.is_inside() && is_empty(lines[i]) && i + 1 < lines.size() &&
                            !is_empty(lines[i + 1]) && !lines[i + 1].starts_with('}');
    if (!begins_run) {
      result.append(lines[i]).append("\n");
      continue;
    }
    const SourceLine* location = nullptr;
    for (std::size_t run = i + 1; run < lines.size() && !is_empty(lines[run]) && location == nullptr; ++run) {
      const auto found = known.find(run + 1);
      if (found != known.end()) location = &found->second;
    }
    std::size_t file = 1;
    if (location != nullptr) file = files.try_emplace(location->file, files.size() + 1).first->second;
    result += "\t.loc\t" + std::to_string(file) + " " +
              std::to_string(location != nullptr ? location->line : 0) + " 0\n";
  }
  for (const auto& [path, number] : files)
    result += "\t.file\t" + std::to_string(number) + " \"" + path + "\"\n";
  return result;
}

}  // namespace

void add_source_lines(Bytes cubin, std::vector<std::string>& modules) {
  const auto sections = elf_sections(cubin);
  if (!sections) return;
  Table source, ptx;
  for (const ElfSection& section : *sections) {
    if (!section.content) continue;
    if (section.name == ".debug_line") source.units = units_of(*section.content);
    if (section.name == ".nv_debug_line_sass") ptx.units = units_of(*section.content);
    if (section.name == ".rela.debug_line") source.symbols = symbols_of(*section.content);
    if (section.name == ".rela.nv_debug_line_sass") ptx.symbols = symbols_of(*section.content);
  }
  // In linked code, each text has one unit, in the same order.
  if (source.units.empty() || ptx.units.size() != modules.size()) return;
  for (std::size_t i = 0; i < modules.size(); ++i) {
    const Lines lines = joined(ptx.units[i], ptx, source);
    const bool has_quotes = std::ranges::any_of(lines, [](const auto& each) {
      return each.second.file.find_first_of("\"\n\\") != std::string::npos;
    });
    if (!lines.empty() && !has_quotes) modules[i] = with_locations(modules[i], lines);
  }
}

}  // namespace lynxpp::image
