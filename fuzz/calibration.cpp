// Parses any text as a calibration, as weights and as a machine. Errors must have a message, and parsed data
// must survive being written and parsed again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "models/campprof/band.h"
#include "models/campprof/calibration.h"
#include "models/machine.h"
#include "models/proplusplus/weights.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

template <typename T>
bool is_read(const lynxpp::Result<T>& result) {
  require(result || !result.error().diagnostics.empty());
  return static_cast<bool>(result);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lynxpp::models;
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (const auto calibration = campprof::parse_calibration(text, "fuzz.json"); is_read(calibration)) {
    for (const campprof::Form form : {campprof::Form::sums, campprof::Form::products})
      (void)campprof::equations_of(*calibration, form);
    const auto written = campprof::to_json(*calibration);
    if (is_read(written)) require(is_read(campprof::parse_calibration(*written, "again.json")));
  }
  if (const auto weights = proplusplus::parse_weights(text, "fuzz.json"); is_read(weights))
    require(is_read(proplusplus::parse_weights(proplusplus::to_json(*weights), "again.json")));
  (void)is_read(parse_machine(text, "fuzz.json"));
  return 0;
}
