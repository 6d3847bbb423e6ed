// Reductions by CUB.
#include <cub/device/device_histogram.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_segmented_reduce.cuh>

#include "examples/primitives/cub_call.h"
#include "examples/primitives/references.h"

namespace {

using primitives::Device;
using primitives::Value;
using primitives::Values;

ADD_PRIMITIVE(reduction, cub) {
  const Device<Value> in(problem.values);
  const Device<Value> out(1);
  const int size = static_cast<int>(in.size());
  primitives::with_storage(trial, [&](void* storage, std::size_t& bytes) {
    return cub::DeviceReduce::Sum(storage, bytes, in.get(), out.get(), size);
  });
  trial.compare(out.download(), trial.host([&] { return Values{primitives::sum_of(problem)}; }));
}

ADD_PRIMITIVE(extrema, cub) {
  const Device<Value> in(problem.values);
  const Device<Value> out(1);
  const int size = static_cast<int>(in.size());
  primitives::with_storage(trial, [&](void* storage, std::size_t& bytes) {
    return cub::DeviceReduce::Max(storage, bytes, in.get(), out.get(), size);
  });
  trial.compare(out.download(), trial.host([&] {
    return Values{*std::max_element(problem.values.begin(), problem.values.end())};
  }));
}

ADD_PRIMITIVE(reduction_by_key, cub) {
  const Device<Value> keys(problem.keys);
  const Device<Value> in(problem.values);
  const Device<Value> out_keys(keys.size());
  const Device<Value> out(keys.size());
  const Device<Value> runs(1);
  const int size = static_cast<int>(in.size());
  primitives::with_storage(trial, [&](void* storage, std::size_t& bytes) {
    return cub::DeviceReduce::ReduceByKey(storage, bytes, keys.get(), out_keys.get(), in.get(), out.get(),
                                          runs.get(), ::cuda::std::plus<>{}, size);
  });
  trial.compare(out.download(runs.download()[0]),
                trial.host([&] { return primitives::sums_of_runs(problem); }));
}

ADD_PRIMITIVE(segmented_reduction, cub) {
  const Device<Value> offsets(problem.offsets);
  const Device<Value> in(problem.values);
  const int runs = static_cast<int>(problem.offsets.size()) - 1;
  const Device<Value> out(static_cast<std::size_t>(runs));
  primitives::with_storage(trial, [&](void* storage, std::size_t& bytes) {
    return cub::DeviceSegmentedReduce::Sum(storage, bytes, in.get(), out.get(), runs, offsets.get(),
                                           offsets.get() + 1);
  });
  trial.compare(out.download(), trial.host([&] { return primitives::sums_of_runs(problem); }));
}

ADD_PRIMITIVE(histogram, cub) {
  constexpr int bins = 100;
  const Device<Value> in(problem.values);
  const Device<Value> out(bins);
  const int size = static_cast<int>(in.size());
  primitives::with_storage(trial, [&](void* storage, std::size_t& bytes) {
    return cub::DeviceHistogram::HistogramEven(storage, bytes, in.get(), out.get(), bins + 1, 0u, 1000u,
                                               size);
  });
  trial.compare(out.download(), trial.host([&] {
    Values wanted(bins);
    for (const Value value : problem.values) ++wanted[value / 10];
    return wanted;
  }));
}

}  // namespace
