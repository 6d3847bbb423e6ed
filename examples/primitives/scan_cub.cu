// Prefix scans by CUB.
#include <cub/device/device_scan.cuh>

#include "examples/primitives/cub_call.h"
#include "examples/primitives/references.h"

namespace {

using primitives::Device;
using primitives::Value;

ADD_PRIMITIVE(inclusive_scan, cub) {
  const Device<Value> in(problem.values);
  const Device<Value> out(in.size());
  const int size = static_cast<int>(in.size());
  primitives::with_storage(trial, [&](void* storage, std::size_t& bytes) {
    return cub::DeviceScan::InclusiveSum(storage, bytes, in.get(), out.get(), size);
  });
  trial.compare(out.download(), trial.host([&] { return primitives::inclusive_sums(problem); }));
}

ADD_PRIMITIVE(exclusive_scan, cub) {
  const Device<Value> in(problem.values);
  const Device<Value> out(in.size());
  const int size = static_cast<int>(in.size());
  primitives::with_storage(trial, [&](void* storage, std::size_t& bytes) {
    return cub::DeviceScan::ExclusiveSum(storage, bytes, in.get(), out.get(), size);
  });
  trial.compare(out.download(), trial.host([&] { return primitives::exclusive_sums(problem); }));
}

ADD_PRIMITIVE(scan_by_key, cub) {
  const Device<Value> keys(problem.keys);
  const Device<Value> in(problem.values);
  const Device<Value> out(in.size());
  const int size = static_cast<int>(in.size());
  primitives::with_storage(trial, [&](void* storage, std::size_t& bytes) {
    return cub::DeviceScan::InclusiveSumByKey(storage, bytes, keys.get(), in.get(), out.get(), size);
  });
  trial.compare(out.download(), trial.host([&] { return primitives::sums_within_runs(problem); }));
}

}  // namespace
