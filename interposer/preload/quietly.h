// Work done on the side of a call by the program.
#pragma once

namespace lynxpp::preload {

/// Runs `work` and returns its result, or a value-initialized one if it throws. If memory runs out, we lose
/// data but the program continues with the driver's result.
///
///     quietly([&] { registry().add(module); });
template <typename Work>
auto quietly(Work work) noexcept -> decltype(work()) {
  try {
    return work();
  } catch (...) {
    return decltype(work())();
  }
}

}  // namespace lynxpp::preload
