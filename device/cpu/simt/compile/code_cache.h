// Machine code of instruction forms that outlives the process: one file for each build of lynxpp and kind of
// processor, in lynxpp/cpu of the user's cache folder (XDG_CACHE_HOME, ~/.cache) or of the folder that
// LYNXPP_CPU_CACHE names; "0" and "off" mean nowhere.
//
// The file is a row of records, each an object file with the forms that were compiled together. Processes
// append to it, one at a time, and read what was there when they began. It is read, not mapped: whoever cuts
// it off meanwhile does not crash the program. At 64 MiB it begins anew, and of other builds' files the four
// newest stay. If somebody else could have written to the folder or the file (support/private_folder.h), no
// code is kept and none is used. Functions here never fail loudly: what is not in the cache is compiled.
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

/// What a form is known by: a hash of its text, by which no two forms have met.
struct FormKey {
  std::uint64_t low = 0, high = 0;
  bool operator==(const FormKey&) const = default;
  /// Of its function in machine code.
  std::string name() const;
};
FormKey form_key(std::string_view text);

struct FormKeyHash {
  std::size_t operator()(const FormKey& key) const { return key.low; }
};

class CodeCache {
 public:
  /// The user's, for code of this build for `processor`; null when there is none.
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
  /// What was stored together with this form before the cache was opened. Good as long as the cache.
  std::optional<Record> find(const FormKey& form) const;
  /// For processes to come.
  void add(std::span<const FormKey> forms, std::span<const std::byte> object) const;
  std::size_t size() const { return records_.size(); }

  static constexpr std::uint64_t greatest_file = std::uint64_t{64} << 20;

 private:
  CodeCache(std::filesystem::path folder, std::string file)
      : folder_(std::move(folder)), file_(std::move(file)) {}
  void read(const PrivateFolder& folder);

  const std::filesystem::path folder_;
  const std::string file_;                                           // its name in the folder
  std::string content_;                                              // as it was
  std::unordered_map<FormKey, std::uint64_t, FormKeyHash> records_;  // where in the file
};

/// Of the library that this code is in.
std::string build_identity();

}  // namespace lynxpp::device::cpu
