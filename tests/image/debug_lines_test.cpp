// Line tables of cubins, written byte by byte: functions, folders and descending lines.
#include "image/debug_lines.h"

#include <gtest/gtest.h>

#include "tests/image/image_builder.h"

namespace lynxpp::image {
namespace {

using test::as_bytes;
using test::CubinBuilder;

template <typename T>
std::string number(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

/// A DWARF 2 unit whose files are in the folders "a" and "b".
class LineTable {
 public:
  /// A row of a function: bytes since the previous row, its file, and the line difference, as one signed
  /// byte.
  struct Row {
    std::uint8_t bytes, file;
    std::int8_t lines;
  };
  LineTable& add(std::uint32_t symbol, const std::vector<Row>& rows) {
    program_ += std::string("\x00\x09\x02", 3);
    symbols_.emplace_back(program_.size(), symbol);
    program_ += number<std::uint64_t>(0);
    for (const Row& row : rows) {
      program_ += {'\x02', static_cast<char>(row.bytes),        '\x04', static_cast<char>(row.file),
                   '\x03', static_cast<char>(row.lines & 0x7f), '\x01'};
    }
    program_ += std::string("\x00\x01\x01", 3);
    return *this;
  }
  void put(CubinBuilder& cubin, const std::string& name) const {
    const std::string files = std::string("a\0b\0\0", 5) + std::string("x.cu\0\1\0\0", 8) +
                              std::string("y.cu\0\2\0\0", 8) + std::string("/z.cu\0\2\0\0", 9) + '\0';
    const std::string rest =
        std::string("\x01\x01\xfb\x0e\x0a\x00\x01\x01\x01\x01\x00\x00\x00\x01", 14) + files;
    const std::string head =
        number<std::uint16_t>(2) + number(static_cast<std::uint32_t>(rest.size())) + rest;
    const std::string unit = number(static_cast<std::uint32_t>(head.size() + program_.size())) + head;
    std::string relocations;
    for (const auto& [at, symbol] : symbols_)
      relocations += number(std::uint64_t{unit.size() + at}) + number(std::uint64_t{symbol} << 32 | 2) +
                     number<std::uint64_t>(0);
    cubin.add(name, unit + program_).add(".rela" + name, relocations, 4);
  }

 private:
  std::string program_;
  std::vector<std::pair<std::size_t, std::uint32_t>> symbols_;
};

TEST(DebugLines, HandleFunctionsFoldersAndDescendingLines) {
  CubinBuilder cubin;
  LineTable source, ptx;
  source.add(7, {{0, 1, 60}, {16, 2, -20}, {16, 3, 5}}).add(8, {{0, 2, 2}});
  ptx.add(7, {{0, 1, 3}, {16, 1, 2}, {16, 1, 2}}).add(8, {{0, 1, 12}});
  source.put(cubin, ".debug_line");
  ptx.put(cubin, ".nv_debug_line_sass");
  const std::string bytes = cubin.build();
  std::vector<std::string> modules{".entry k()\n{\n\nadd;\n\nsub;\n\nmul;\n}\n.entry l()\n{\n\nret;\n}\n"};
  add_source_lines(as_bytes(bytes), modules);
  EXPECT_EQ(modules[0],
            ".entry k()\n{\n\t.loc\t1 61 0\nadd;\n\t.loc\t2 41 0\nsub;\n\t.loc\t3 46 0\nmul;\n}\n"
            ".entry l()\n{\n\t.loc\t2 3 0\nret;\n}\n"
            "\t.file\t3 \"/z.cu\"\n\t.file\t1 \"a/x.cu\"\n\t.file\t2 \"b/y.cu\"\n");
}

}  // namespace
}  // namespace lynxpp::image
