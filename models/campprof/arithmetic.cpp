#include "models/campprof/arithmetic.h"

#include <cmath>
#include <cstdio>
#include <string>

namespace lynxpp::models::campprof {

Result<double> part_of_instructions(const AddedArithmetic& arithmetic) {
  for (const double each : {arithmetic.instructions, arithmetic.milliseconds, arithmetic.milliseconds_before,
                            arithmetic.milliseconds_after}) {
    if (!std::isfinite(each) || !(each > 0))
      return failure("its instructions or its times with arithmetic added are not known");
  }
  const double more = arithmetic.more_instructions();
  if (!(more >= least_more_instructions)) {
    char percent[32];
    std::snprintf(percent, sizeof percent, "%.2g", 100 * more);
    return failure(std::to_string(arithmetic.added) + " additions at each access are " + percent +
                   " % more instructions: too few to determine if it is memory bound");
  }
  return arithmetic.longer() / more;
}

}  // namespace lynxpp::models::campprof
