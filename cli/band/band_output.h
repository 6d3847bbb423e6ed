// A kernel's band as text, JSON and pictures.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/hot/hot_spots.h"
#include "models/campprof/arithmetic.h"
#include "models/campprof/band.h"
#include "models/campprof/calibration.h"
#include "models/clock/kernel_time.h"

namespace lynxpp::cli {

struct KernelBand {
  std::string name;
  models::campprof::Kernel kernel;
  models::campprof::Band band;
  std::vector<std::string> notes;
  std::vector<NamedHotSpot> hot;
  /// of the first launch, if the device is modelled
  std::optional<models::clock::Traffic> traffic;
  double core_mhz = 1;                                          ///< converts `traffic`'s cycles
  std::optional<models::campprof::Band> regression;             ///< by Form::sums; nullopt: not wanted, none
  std::optional<models::campprof::AddedArithmetic> arithmetic;  ///< only if part_of_instructions is known
};

/// Values that all bands share.
struct BandContext {
  const models::campprof::Calibration& calibration;
  std::string equation;  ///< of KernelBand::band: a form's name
};

std::string band_text(const KernelBand& band, const BandContext& context);
/// Returns one object and a newline: docs/schema/band.schema.json.
std::string band_json(const KernelBand& band, const BandContext& context);
/// Returns a line for each number of warps, after one with the columns' names: `lines` is "interpolation",
/// "regression" (--equation sums) or "regression with products".
std::string band_csv(const std::vector<KernelBand>& bands, const BandContext& context);
std::string band_svg(const KernelBand& band, const BandContext& context);
/// Returns a page with the bands and, for kernels with traffic, the traffic per partition over modelled time
/// and by block.
std::string band_html(const std::vector<KernelBand>& bands, const BandContext& context);

}  // namespace lynxpp::cli
