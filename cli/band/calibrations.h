// Stored calibrations: one file per device in the user's data folder.
#pragma once

#include <string>

#include "models/campprof/calibration.h"
#include "support/result.h"

namespace lynxpp::cli {

/// Returns $XDG_DATA_HOME/lynxpp/KIND, else ~/.local/share/lynxpp/KIND; empty without a home.
std::string data_folder(const std::string& kind);

/// Writes a file and creates its folder. Fails if a file of the data folder would be in another user's home,
/// because `sudo` may keep HOME and that user could not change the file.
Status keep_file(const std::string& file, const std::string& text);

/// Returns the device's file in `folder`: its name in lowercase letters and digits, with '-' for other
/// characters. Empty if `folder` is empty.
std::string device_file(const std::string& folder, const std::string& device);

/// Returns $XDG_DATA_HOME/lynxpp/calibrations, else ~/.local/share/lynxpp/calibrations; empty without a home.
std::string calibrations_folder();

/// Returns the device's file in the calibrations folder.
std::string calibration_file(const std::string& device);

/// Reads the calibration of the device `name`; from the file `name` if it contains a '/' or ends with
/// ".json"; or the only stored one if `name` is empty. Otherwise fails and lists
/// the stored ones.
Result<models::campprof::Calibration> find_calibration(const std::string& name);

}  // namespace lynxpp::cli
