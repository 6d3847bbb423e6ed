// LYNXPP_OUTPUT names a file of its own for every process.
#pragma once

#include <string>
#include <string_view>

#include "support/result.h"

namespace lynxpp::interposer {

/// The path with %p, %h and %r replaced by the process, the host and the rank of an MPI program (as Open MPI,
/// MPICH, MVAPICH, PMIx and Slurm name it; 0 where none of their variables is set); %% is a percent sign.
/// Failure: another letter stands behind %.
Result<std::string> expand_output_path(std::string_view pattern);

}  // namespace lynxpp::interposer
