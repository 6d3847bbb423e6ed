// The schemes of GMProf (Zheng et al., 2012, section 4) by which memory words can be counted, by name. Code
// generation and the engine know only the properties of a name (cod/word_scheme.h).
#pragma once

#include <string>
#include <string_view>

#include "cod/word_scheme.h"
#include "support/result.h"

namespace lynxpp::gmprof {

/// Parses "static,plain,shared=8,threshold=255": comma-separated names, each at most once.
///
///   replay | basic | static    the analysis; replay is the default
///   plain                      without atomic operations; not with sample
///   shared=32 | 16 | 8         narrow counters saturate at their maximum or a threshold
///   global                     counters in device memory even if shared memory has room; not with shared
///   threshold[=N]              N from 1 to 2^31 - 1; 255 without a number
///   sample=N, seed=N           N of at least 2; implies `basic`
///
/// Empty: the default. Fails with what is wrong and where in the text; `origin` names the text,
/// "LYNXPP_WORDS".
Result<cod::WordScheme> parse_schemes(std::string_view text, const std::string& origin);

}  // namespace lynxpp::gmprof
