// The folder of original and instrumented kernels for the user (LYNXPP_DUMP).
//
//   KERNEL.ptx, KERNEL.instrumented.ptx                   the module that defines it, and its variant
//   KERNEL.instrumented.2.ptx                             another variant, for launches of another shape
//   KERNEL.2.ptx, KERNEL.2.instrumented.ptx               another module with a kernel of the same name
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "interposer/owned_mutex.h"

namespace lynxpp::interposer {

/// Thread safe. Failures to write are logged.
class DumpFolder {
 public:
  /// An empty path disables all writing.
  explicit DumpFolder(std::string path) : path_(std::move(path)) {}

  /// The files of one variant.
  struct Files {
    std::string stem;        ///< empty: no file assigned yet
    std::size_t number = 0;  ///< number of the variant's file; 0: no file assigned yet
  };

  /// Writes the original. Different texts get different files.
  void original(const std::string& kernel, const std::string& text, Files& files);
  /// Writes the variant. Overwrites the text written earlier for the same `files`.
  void instrumented(const std::string& text, Files& files);

 private:
  /// Returns the number, from 1, of the text among those with this name: its existing number, else
  /// `otherwise`, else a new one.
  std::size_t number_of(const std::string& name, const std::string& text, std::size_t otherwise = 0);
  void write(const std::string& name, const std::string& text) const;

  const std::string path_;
  OwnedMutex<std::mutex> mutex_{LockRank::leaf};
  /// Hashes, by name.
  std::map<std::string, std::vector<std::size_t>> texts_ LYNXPP_GUARDED_BY(mutex_);
};

}  // namespace lynxpp::interposer
