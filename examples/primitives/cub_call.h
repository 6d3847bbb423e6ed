// CUB's functions are called twice: to query the size of their storage, and to run.
#pragma once

#include "examples/primitives/primitives.h"

namespace primitives {

/// `call(storage, bytes)` is the function with its other arguments bound. The allocation of the storage is
/// not measured.
template <typename Call>
void with_storage(Trial& trial, const Call& call) {
  std::size_t bytes = 0;
  PRIMITIVES_CHECK(call(nullptr, bytes));
  const Device<unsigned char> storage(bytes);
  trial.device([&] { PRIMITIVES_CHECK(call(storage.get(), bytes)); });
}

}  // namespace primitives
