// Thread blocks that do the same as others.
#pragma once

#include <array>
#include <cstdint>

#include "models/cumapz/description.h"

namespace lynxpp::models::cumapz {

/// After how many blocks of each dimension of the grid the same comes again at other addresses: where no
/// condition depends on blockIdx, every index of an array in global memory moves by the same from block to
/// block, and indices in shared memory stay, after as many as it takes to move by a multiple of the largest
/// transaction. Then these blocks count for all of the dimension, exactly. Where blockIdx enters in another
/// than a linear way, and where a condition depends on it: the whole dimension.
std::array<std::int64_t, 3> periods_of(const Description& description, const Variant& variant);

}  // namespace lynxpp::models::cumapz
