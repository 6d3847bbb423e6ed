// The command line of `lynxpp`, as data. Only arguments.cpp depends on the parsing library.
#pragma once

#include <variant>

#include "cli/advise/arguments.h"
#include "cli/band/arguments.h"
#include "cli/characterize/arguments.h"
#include "cli/checked/arguments.h"
#include "cli/cluster/arguments.h"
#include "cli/control/arguments.h"
#include "cli/exit_code.h"
#include "cli/limits/arguments.h"
#include "cli/lsp/arguments.h"
#include "cli/ptx/arguments.h"
#include "cli/quality/arguments.h"
#include "cli/reports/arguments.h"
#include "cli/run_arguments.h"
#include "cli/specification_arguments.h"
#include "cli/trace/arguments.h"

namespace lynxpp::cli {

/// Nothing is left to do: help, the version or an error was printed.
struct Finished {
  int exit_code = exit_success;
};

using Arguments = std::variant<Finished, RunArguments, RecordArguments, CheckRunArguments, BenchArguments,
                               LimitsArguments, CharacterizeArguments, ReportArguments, MergeArguments,
                               TraceArguments, DiffArguments, CheckArguments, InstrumentArguments,
                               PtxArguments, AdviseArguments, QualityArguments, CalibrateArguments,
                               BandArguments, ListArguments, LspArguments, TritonArguments, ControlArguments>;

/// Prints help and version on stdout, errors on stderr.
Arguments parse_arguments(int count, char** values);

}  // namespace lynxpp::cli
