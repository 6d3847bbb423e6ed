// Sorting by CUB.
#include <cub/device/device_merge_sort.cuh>
#include <cub/device/device_radix_sort.cuh>

#include "examples/primitives/cub_call.h"
#include "examples/primitives/references.h"

namespace {

using primitives::Device;
using primitives::Value;

struct Before {
  __host__ __device__ bool operator()(Value a, Value b) const { return a < b; }
};

ADD_PRIMITIVE(radix_sort, cub) {
  const Device<Value> in(problem.values);
  const Device<Value> out(in.size());
  const int size = static_cast<int>(in.size());
  primitives::with_storage(trial, [&](void* storage, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortKeys(storage, bytes, in.get(), out.get(), size);
  });
  trial.compare(out.download(), trial.host([&] { return primitives::sorted_values(problem); }));
}

ADD_PRIMITIVE(merge_sort, cub) {
  const Device<Value> values(problem.values);
  const int size = static_cast<int>(values.size());
  primitives::with_storage(trial, [&](void* storage, std::size_t& bytes) {
    return cub::DeviceMergeSort::SortKeys(storage, bytes, values.get(), size, Before());
  });
  trial.compare(values.download(), trial.host([&] { return primitives::sorted_values(problem); }));
}

}  // namespace
