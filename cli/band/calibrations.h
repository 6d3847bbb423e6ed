// Where calibrations lie: one file for each device in the user's data folder, as whatever else belongs to a
// device.
#pragma once

#include <string>

#include "models/campprof/calibration.h"
#include "support/result.h"

namespace lynxpp::cli {

/// $XDG_DATA_HOME/lynxpp/KIND, else ~/.local/share/lynxpp/KIND; empty without a home.
std::string data_folder(const std::string& kind);

/// Writes a file and makes its folder. Fails if a file of the data folder would be in another user's home,
/// since `sudo` may keep HOME: that user could not change the file.
Status keep_file(const std::string& file, const std::string& text);

/// The file of a device in such a folder: its name in small letters and digits, with '-' for the rest. Empty
/// without a folder.
std::string device_file(const std::string& folder, const std::string& device);

/// $XDG_DATA_HOME/lynxpp/calibrations, else ~/.local/share/lynxpp/calibrations; empty without a home.
std::string calibrations_folder();

/// The file of a device there.
std::string calibration_file(const std::string& device);

/// Of a device, by its name; a file, when the name has a '/' or ends with ".json"; the only one there is,
/// when it is empty. Failure: none, or several, with what there is.
Result<models::campprof::Calibration> find_calibration(const std::string& name);

}  // namespace lynxpp::cli
