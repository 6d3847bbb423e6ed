// The folder in which a user reads what became of kernels (LYNXPP_DUMP).
//
//   KERNEL.ptx, KERNEL.instrumented.ptx                   the module that defines it, and its variant
//   KERNEL.instrumented.2.ptx                             another variant, for launches of another shape
//   KERNEL.2.ptx, KERNEL.2.instrumented.ptx               another module with a kernel of that name
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace lynxpp::interposer {

/// Thread safe. What cannot be written is named in the log.
class DumpFolder {
 public:
  /// With an empty path nothing is written.
  explicit DumpFolder(std::string path) : path_(std::move(path)) {}

  /// The files of one variant.
  struct Files {
    std::string stem;        ///< empty: it has none yet
    std::size_t number = 0;  ///< of the variant's file; 0: it has none yet
  };

  /// Texts that differ get different files.
  void original(const std::string& kernel, const std::string& text, Files& files);
  /// The same, but that a text takes the place of the one that was given for the same `files` before.
  void instrumented(const std::string& text, Files& files);

 private:
  /// The number, from 1, of the text among those of the name: one that it has, or `otherwise`, or a new one.
  std::size_t number_of(const std::string& name, const std::string& text, std::size_t otherwise = 0);
  void write(const std::string& name, const std::string& text) const;

  const std::string path_;
  std::mutex mutex_;
  std::map<std::string, std::vector<std::size_t>> texts_;  // hashes, by name
};

}  // namespace lynxpp::interposer
