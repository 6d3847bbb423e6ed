#include "interposer/dump_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iterator>
#include <system_error>

#include "support/log.h"
#include "support/output_file.h"

namespace lynxpp::interposer {
namespace {

constexpr std::size_t longest_name = 200;  // file systems allow 255

std::string numbered(std::size_t number) { return number == 1 ? "" : "." + std::to_string(number); }

}  // namespace

std::size_t DumpFolder::number_of(const std::string& name, const std::string& text, std::size_t otherwise) {
  const std::size_t hash = std::hash<std::string>()(text);
  std::vector<std::size_t>& known = texts_[name];
  const auto same = std::ranges::find(known, hash);
  if (same != known.end()) return static_cast<std::size_t>(std::distance(known.begin(), same)) + 1;
  if (otherwise == 0) {
    known.push_back(hash);
    return known.size();
  }
  known[otherwise - 1] = hash;
  return otherwise;
}

void DumpFolder::original(const std::string& kernel, const std::string& text, Files& files) {
  if (path_.empty()) return;
  const Lock lock(mutex_);
  const std::string name = kernel.substr(0, longest_name);
  files = {name + numbered(number_of(name, text)), 0};
  write(files.stem + ".ptx", text);
}

void DumpFolder::instrumented(const std::string& text, Files& files) {
  if (path_.empty()) return;
  const Lock lock(mutex_);
  const std::string name = files.stem + ".instrumented";
  files.number = number_of(name, text, files.number);
  write(name + numbered(files.number) + ".ptx", text);
}

void DumpFolder::write(const std::string& name, const std::string& text) const {
  std::error_code error;
  std::filesystem::create_directories(path_, error);
  const std::string path = path_ + "/" + name;
  // Always creates a new file: an existing link or file of another user is neither followed nor written.
  ::unlink(path.c_str());
  const Result<Descriptor> file = open_output(path, O_EXCL | O_NOFOLLOW);
  if (!file || write_output(*file, text).error != 0) log().warn("cannot write {}", path);
}

}  // namespace lynxpp::interposer
