// The PTX of handlers and what it was lowered for.
#pragma once

#include <string>
#include <vector>

#include "cod/site_value.h"
#include "cod/word_scheme.h"
#include "support/result.h"

namespace lynxpp::cod {

/// PTX of one handler: a module with the `.func` handler_function, without parameters, whose body is spliced,
/// and the functions that it calls, which a variant contains once and which do not read site values. The body
/// ends with a single `ret;` or contains several; each ends the handler.
struct HandlerCode {
  std::string ptx;
};

struct DeviceTarget {
  int sm = 75;  ///< the code may use features of this compute capability, such as redux.sync from 80
  bool plain_counters = false;  ///< lowers counters() and tallies() like all other statements
  bool wide_counters = false;   ///< registers of tallies() have 64 bits
  /// Lowers only handlers with can_use_lane_values, to code that reads sector_threshold and the values after
  /// it.
  bool lane_values = false;
  /// Scheme of countWords(). Routines that sample keep their position in the random sequence in one more
  /// 32-bit state register after those of state(). Routines with counters in shared memory use one more
  /// variable after those of variables(), the start of dynamic shared memory.
  WordScheme words = {};
  bool streams_traces = false;  ///< the code streams entries if StreamControl enables it
  bool has_lane_sizes = false;  ///< true if access_size may differ between lanes
};

struct DeviceCode {
  /// One per Specification::handlers(), in the same order; empty if the handler is counted.
  std::vector<HandlerCode> handlers;
  int minimum_sm = 0;   ///< the lowest `.target` that the code needs (70 match, 80 redux)
  int minimum_ptx = 0;  ///< the lowest `.version` × 10 that the code needs (62 activemask, 70 redux)
};

/// Returns the routine that computes one of the four site values about differences between the lanes'
/// addresses. It reads memory_address, which may be offset by any amount that is the same in all active
/// lanes. Values about banks also read access_size and access_kind; banks_of_some_lanes reads bank_lanes,
/// too. It writes lane_result. All lanes of the access run it together. bank_lanes may be computed by a
/// superset of those lanes, except for loads of more than 4 bytes, whose lane groups depend on the active
/// lanes. Results are cached per compute capability.
Result<HandlerCode> lower_lane_value(SiteValue value, int sm);

}  // namespace lynxpp::cod
