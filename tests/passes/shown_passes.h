// Runs the pipeline on a golden test's kernel and shows what passes did.
#pragma once

#include <string>

#include "tests/support/golden_file.h"

namespace lynxpp::engine {

/// Instruments the kernel k of the file and returns a section for each pass that the key `show` names: its
/// plan, or what it changed. Reports a test failure if a pass has nothing to show or ptxas rejects the
/// variant. The other keys:
///   specification  one or more, by name, and
///   launch         any, full_warps or whole_rows: the launches that the variant is for
///   words          the scheme of counted memory words
///   address        of each of the program's variables
/// or routines of the fixture (tests/passes/splice_fixture.h) instead of a specification, and
///   probes         POINT=ROUTINE ...; `show` is `variant`: what all passes changed
///   share          VARIABLE=ADDRESS ...
std::string shown_passes(const GoldenFile& file);

}  // namespace lynxpp::engine
