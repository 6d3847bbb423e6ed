// The passes of a perturbed variant.
#pragma once

#include <vector>

#include "ptx/passes/pass.h"
#include "ptx/perturb/perturbation.h"

namespace lynxpp::ptx {

/// Returns a manager with the passes that build a perturbed variant: those of the pipeline that any variant
/// needs, and `perturb`, which adds the code of one class. Functions that the kernel calls stay unchanged.
/// `sites` receives the selected instructions, in textual order; it must outlive the manager. The pass fails
/// if the perturbation is not one of code (Operation::occupancy).
PassManager make_perturbation_pipeline(const Perturbation& perturbation, std::vector<PerturbedSite>& sites);

}  // namespace lynxpp::ptx
