// Merges records of many processes into one file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "report/cluster/json_members.h"
#include "support/result.h"

namespace lynxpp::report {

/// Writes lines as they are read. Keeps only a few bytes for each process and for each table of sites.
///
/// Every record names its process, whose own record precedes it; records of a file without one get one that
/// names the file. If two processes happen to have the same name, one is renamed. A table of sites that
/// processes share is written once, and launches and series refer to it by its new number.
class Merger {
 public:
  /// `write` receives each line with its newline.
  explicit Merger(std::function<void(std::string_view)> write) : write_(std::move(write)) {}

  /// Fails if the file cannot be read to its end; lines read until then have been written. Invalid lines are
  /// skipped and reported in `problems`, up to a hundred per file.
  Status add(const std::string& path, Diagnostics& problems);

  std::uint64_t processes() const { return headers_.size(); }
  std::uint64_t records() const { return records_; }

 private:
  using Members = std::vector<JsonMember>;

  /// Returns an error; empty if the line was written or had been written before.
  std::string add_line(std::string_view line);
  void add_header(Members& members);
  void add_sites(const std::string& process, Members& members);
  void add_other(const std::string& process, Members& members, bool is_unchanged, std::string_view line);
  std::string process_of(const Members& members);
  std::string name_file();
  void write_members(const Members& members);

  std::function<void(std::string_view)> write_;
  std::unordered_map<std::string, std::size_t> headers_;  ///< by the process's name: hash of its record
  std::map<std::string, std::vector<std::size_t>, std::less<>> tables_;  ///< hashes of each kernel's tables
  std::uint64_t records_ = 0;
  // State of the file that is being read:
  std::string path_;
  std::string nameless_;                                   ///< the process of records that name none
  std::map<std::string, std::string, std::less<>> names_;  ///< new names of renamed processes
  std::map<std::string, std::size_t, std::less<>>
      numbers_;  ///< new table numbers, by process, kernel and old number
  std::string written_;
};

}  // namespace lynxpp::report
