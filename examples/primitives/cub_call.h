// CUB's functions are called twice: for the size of their storage, and to work.
#pragma once

#include "examples/primitives/primitives.h"

namespace primitives {

/// `call(storage, bytes)` is the function with its other arguments bound. The storage is allocated outside of
/// what is measured.
template <typename Call>
void with_storage(Trial& trial, const Call& call) {
  std::size_t bytes = 0;
  PRIMITIVES_CHECK(call(nullptr, bytes));
  const Device<unsigned char> storage(bytes);
  trial.device([&] { PRIMITIVES_CHECK(call(storage.get(), bytes)); });
}

}  // namespace primitives
