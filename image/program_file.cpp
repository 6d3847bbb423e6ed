#include "image/program_file.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "image/bytes.h"
#include "image/elf.h"
#include "image/fatbinary.h"

namespace lynxpp::image {
namespace {

constexpr std::string_view archive_magic = "!<arch>\n";
constexpr std::uint16_t machine_cuda = 190;  // EM_CUDA: the ELF file itself is a cubin

std::string_view text(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

/// Splits a section of consecutive containers.
Status split_section(Bytes section, const std::string& origin, std::vector<FileImage>& images) {
  std::uint64_t offset = 0;
  std::size_t index = 0;
  while (offset < section.size()) {
    const auto magic = load<std::uint32_t>(section, offset);
    if (!magic || *magic == 0) {
      offset += 4;
      continue;
    }
    const auto header_size = load<std::uint16_t>(section, offset + 6);
    const auto payload_size = load<std::uint64_t>(section, offset + 8);
    if (*magic != container_magic || !payload_size || *header_size < container_header_size ||
        *payload_size > section.size()) {
      return failure(origin + ": the section contains data other than fatbinary containers");
    }
    const auto container = slice(section, offset, *header_size + *payload_size);
    if (!container) return failure(origin + ": a fatbinary container is truncated");
    images.push_back({origin + " #" + std::to_string(index++) + "]", *container});
    offset += container->size();
  }
  return success();
}

Status read_elf(Bytes file, const std::string& origin, std::vector<FileImage>& images) {
  const auto sections = elf_sections(file);
  if (!sections) return failure(origin + ": " + sections.error().diagnostics.front().message);
  if (*load<std::uint16_t>(file, 18) == machine_cuda) {
    images.push_back({origin, file});
    return success();
  }
  for (const ElfSection& section : *sections) {
    if (section.name != ".nv_fatbin" && section.name != "__nv_relfatbin") continue;
    if (section.type == elf_section_without_bits) continue;
    const std::string name(section.name);
    if (!section.content) return failure(origin + ": section " + name + " is truncated");
    auto status = split_section(*section.content, origin + "[" + name, images);
    if (!status) return status;
  }
  return success();
}

std::uint64_t decimal(std::string_view digits) {
  std::uint64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

/// Decodes a member's name in a System V archive: "name/", or "/offset" into the table of long names.
std::string member_name(std::string_view field, std::string_view long_names) {
  if (field.size() > 1 && field[0] == '/' && field[1] >= '0' && field[1] <= '9') {
    const std::uint64_t offset = decimal(field.substr(1));
    if (offset >= long_names.size()) return "?";
    const std::string_view rest = long_names.substr(offset);
    return std::string(rest.substr(0, rest.find_first_of("/\n")));
  }
  return std::string(field.substr(0, field.find_first_of("/ ")));
}

Status read_archive(Bytes file, const std::string& path, std::vector<FileImage>& images) {
  constexpr std::size_t member_header_size = 60;
  std::string_view long_names;
  std::uint64_t offset = archive_magic.size();
  while (offset < file.size()) {
    const auto header = slice(file, offset, member_header_size);
    if (!header || text(*header).substr(58) != "`\n") return failure(path + ": the archive is damaged");
    const std::string_view fields = text(*header);
    const std::uint64_t size = decimal(fields.substr(48, 10));
    const auto member = slice(file, offset + member_header_size, size);
    if (!member) return failure(path + ": the archive is truncated");
    const std::string_view name = fields.substr(0, 16);
    if (name.starts_with("// ")) {
      long_names = text(*member);
    } else if (const auto magic = load<std::uint32_t>(*member, 0); magic && *magic == elf_magic) {
      auto status = read_elf(*member, path + "(" + member_name(name, long_names) + ")", images);
      if (!status) return status;
    }
    offset += member_header_size + size + size % 2;
  }
  return success();
}

bool read_bytes(const std::string& path, std::vector<std::byte>& contents) {
  std::error_code problem;
  const std::uintmax_t size = std::filesystem::file_size(path, problem);  // fails for a folder
  if (problem) return false;
  std::ifstream stream(path, std::ios::binary);
  contents.resize(size);
  stream.read(reinterpret_cast<char*>(contents.data()), static_cast<std::streamsize>(size));
  return stream.good();
}

}  // namespace

Result<ProgramFile> containers_in_file(const std::string& path) {
  ProgramFile file;
  if (!read_bytes(path, file.contents)) return failure("cannot read '" + path + "'");
  const Bytes contents = file.contents;
  const auto magic = load<std::uint32_t>(contents, 0);
  Status status = success();
  if (text(contents).starts_with(archive_magic)) {
    status = read_archive(contents, path, file.images);
  } else if (magic && *magic == elf_magic) {
    status = read_elf(contents, path, file.images);
  } else {
    auto entries = list_entries(contents);
    if (!entries) {
      return failure("'" + path + "' holds no device code: " + entries.error().diagnostics.front().message,
                     "give a program, a library, a fatbinary, a cubin or PTX text");
    }
    file.images.push_back({path, contents});
  }
  if (!status) return status.error();
  return file;
}

}  // namespace lynxpp::image
