#include "cli/band/calibrations.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

#include "support/text.h"

namespace lynxpp::cli {
namespace {

using models::campprof::Calibration;

std::string set_variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

Result<Calibration> read(const std::string& file) {
  std::string text;
  if (!read_file(file, text)) return failure(cannot_read(file));
  return models::campprof::parse_calibration(text, file);
}

/// Returns the names of the stored calibrations, which are those of their files.
std::vector<std::string> stored() {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(calibrations_folder(), error)) {
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace

std::string data_folder(const std::string& kind) {
  const std::string data = set_variable("XDG_DATA_HOME");
  // The XDG base directory specification ignores relative paths.
  if (data.starts_with('/')) return data + "/lynxpp/" + kind;
  const std::string home = set_variable("HOME");
  return home.empty() ? "" : home + "/.local/share/lynxpp/" + kind;
}

Status keep_file(const std::string& file, const std::string& text) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(file).parent_path();
  const std::string data = data_folder("");
  std::error_code error;
  if (!data.empty() && file.starts_with(data)) {
    fs::path there = folder;
    while (!fs::exists(there, error) && there.has_relative_path()) there = there.parent_path();
    struct stat status {};
    const bool is_known = ::stat(there.c_str(), &status) == 0;
    if (is_known && status.st_uid != ::geteuid() && status.st_uid != 0) {
      const std::string reason = there.string() + " belongs to user " + std::to_string(status.st_uid);
      return failure("cannot store " + file + ": " + reason, "use -o FILE");
    }
  }
  if (!folder.empty()) fs::create_directories(folder, error);
  return write_file(file, text) ? success() : failure("cannot write " + file);
}

std::string device_file(const std::string& folder, const std::string& device) {
  if (folder.empty()) return {};
  std::string name;
  for (const char c : device) {
    const bool is_plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
    name += is_plain ? static_cast<char>(std::tolower(static_cast<unsigned char>(c))) : '-';
  }
  return folder + "/" + name + ".json";
}

std::string calibrations_folder() { return data_folder("calibrations"); }

std::string calibration_file(const std::string& device) { return device_file(calibrations_folder(), device); }

Result<Calibration> find_calibration(const std::string& name) {
  if (name.find('/') != std::string::npos || name.ends_with(".json")) return read(name);
  std::vector<std::string> names = stored();
  std::string list;
  for (const std::string& each : names) list += (list.empty() ? "" : ", ") + each;
  if (name.empty()) {
    // If one device has both calibrations, prefer the coalesced one.
    if (names.size() == 2 && names[1] == names[0] + "-scattered") names.pop_back();
    if (names.size() == 1) return read(calibrations_folder() + "/" + names.front() + ".json");
    if (names.empty())
      return failure("no device is calibrated",
                     "run `lynxpp band calibrate`; without a GPU, add --machine compute_1_3");
    return failure("several devices are calibrated: " + list, "choose one with --calibration");
  }
  std::error_code error;
  const std::string file = calibration_file(name);
  if (std::filesystem::exists(file, error)) return read(file);
  return failure("the device '" + name + "' is not calibrated",
                 list.empty() ? "no device is; run `lynxpp band calibrate`" : "calibrated devices: " + list);
}

}  // namespace lynxpp::cli
