// What is done beside a call of the program's.
#pragma once

namespace lynxpp::preload {

/// Runs `work` and returns what it returns, a value-initialized one when it throws. Out of memory there is
/// our loss, not the program's: it goes on with what the driver gave it.
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
