// Records of many processes in one file.
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

/// Hands lines on as they are read. What it keeps is a few bytes for each process and for each table of
/// sites.
///
/// Every record names its process, whose own record stands before it; records of a file that has none get one
/// that names the file. Processes that have the same name by chance get two. The same table of sites is
/// written once, for all processes, and launches name it by its new number.
class Merger {
 public:
  /// `write` gets each line with its end.
  explicit Merger(std::function<void(std::string_view)> write) : write_(std::move(write)) {}

  /// Failure: the file cannot be read, or not to its end; what was read has been written. Lines that are no
  /// records are left out and named in `problems`, the first hundred of a file.
  Status add(const std::string& path, Diagnostics& problems);

  std::uint64_t processes() const { return headers_.size(); }
  std::uint64_t records() const { return records_; }

 private:
  using Members = std::vector<JsonMember>;

  /// Empty: it was written, or stands there already. Else what is wrong with it.
  std::string add_line(std::string_view line);
  void add_header(Members& members);
  void add_sites(const std::string& process, Members& members);
  void add_launch(const std::string& process, Members& members, bool is_unchanged, std::string_view line);
  std::string process_of(const Members& members);
  std::string name_file();
  void write_members(const Members& members);

  std::function<void(std::string_view)> write_;
  std::unordered_map<std::string, std::size_t>
      headers_;  ///< by the process's name: what its record says, hashed
  std::map<std::string, std::vector<std::size_t>, std::less<>> tables_;  ///< of each kernel, hashed
  std::uint64_t records_ = 0;
  // Of the file that is being read:
  std::string path_;
  std::string nameless_;                                   ///< the process of records that name none
  std::map<std::string, std::string, std::less<>> names_;  ///< processes that have another name here
  std::map<std::string, std::size_t, std::less<>>
      numbers_;  ///< of tables, by process, kernel and number there
  std::string written_;
};

}  // namespace lynxpp::report
