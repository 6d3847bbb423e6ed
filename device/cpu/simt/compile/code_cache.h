// Persistent cache of machine code for instruction forms: one file per build of lynxpp and type of processor,
// in lynxpp/cpu in the user's cache folder (XDG_CACHE_HOME, ~/.cache) or in the folder that LYNXPP_CPU_CACHE
// names; "0" and "off" disable it.
//
// The file is a sequence of records, each an object file with forms that were compiled together. Processes
// append to it, one at a time, and read what it contained when they started. It is read rather than mapped,
// so that a concurrent truncation cannot crash the program. At 64 MiB it starts again from empty; of other
// builds' files, the newest four are kept. If other users could have written to the folder or the file
// (support/private_folder.h), the cache is neither read nor written. Errors are not fatal: code that is not
// in the cache is compiled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "support/private_folder.h"
#include "support/result.h"

namespace lynxpp::device::cpu {

/// Identifies a form by a hash of its text, wide enough to rule out collisions in practice.
struct FormKey {
  std::uint64_t low = 0, high = 0;
  bool operator==(const FormKey&) const = default;
  /// Returns the name of the form's function in machine code.
  std::string name() const;
};
FormKey form_key(std::string_view text);

struct FormKeyHash {
  std::size_t operator()(const FormKey& key) const { return key.low; }
};

class CodeCache {
 public:
  /// Opens the user's cache for code of this build for `processor`; null if none exists.
  static std::unique_ptr<CodeCache> of_user(std::string_view processor);
  /// Fails if the folder cannot be used.
  static Result<std::unique_ptr<CodeCache>> open(const std::filesystem::path& folder,
                                                 std::string_view version);
  CodeCache(const CodeCache&) = delete;
  CodeCache& operator=(const CodeCache&) = delete;

  struct Record {
    std::span<const FormKey> forms;
    std::span<const std::byte> object;
  };
  /// Returns the record that contains this form if it was stored before the cache was opened. The record is
  /// valid as long as the cache.
  std::optional<Record> find(const FormKey& form) const;
  /// Stores forms for later processes.
  void add(std::span<const FormKey> forms, std::span<const std::byte> object) const;
  std::size_t size() const { return records_.size(); }

  static constexpr std::uint64_t greatest_file = std::uint64_t{64} << 20;

 private:
  CodeCache(std::filesystem::path folder, std::string file)
      : folder_(std::move(folder)), file_(std::move(file)) {}
  void read(const PrivateFolder& folder);

  const std::filesystem::path folder_;
  const std::string file_;                                           // file name in the folder
  std::string content_;                                              // contents when the cache was opened
  std::unordered_map<FormKey, std::uint64_t, FormKeyHash> records_;  // offset of each form's record
};

/// Returns the identity of the library that contains this code.
std::string build_identity();

}  // namespace lynxpp::device::cpu
