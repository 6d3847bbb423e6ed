// Reordering by CUB.
#include <cub/device/device_merge.cuh>
#include <cub/device/device_partition.cuh>
#include <cub/device/device_select.cuh>

#include <iterator>

#include "examples/primitives/cub_call.h"
#include "examples/primitives/references.h"

namespace {

using primitives::Device;
using primitives::Value;
using primitives::Values;

ADD_PRIMITIVE(partition, cub) {
  const Device<Value> in(problem.values);
  const Device<Value> flags(problem.flags);
  const Device<Value> out(in.size());
  const Device<Value> chosen(1);
  const int size = static_cast<int>(in.size());
  primitives::with_storage(trial, [&](void* storage, std::size_t& bytes) {
    return cub::DevicePartition::Flagged(storage, bytes, in.get(), flags.get(), out.get(), chosen.get(),
                                         size);
  });
  Values found = out.download();
  std::reverse(found.begin() + chosen.download()[0], found.end());  // CUB stores the others in reverse order
  trial.compare(found, trial.host([&] { return primitives::flagged(problem, true); }));
}

ADD_PRIMITIVE(compaction, cub) {
  const Device<Value> in(problem.values);
  const Device<Value> flags(problem.flags);
  const Device<Value> out(in.size());
  const Device<Value> chosen(1);
  const int size = static_cast<int>(in.size());
  primitives::with_storage(trial, [&](void* storage, std::size_t& bytes) {
    return cub::DeviceSelect::Flagged(storage, bytes, in.get(), flags.get(), out.get(), chosen.get(), size);
  });
  trial.compare(out.download(chosen.download()[0]),
                trial.host([&] { return primitives::flagged(problem, false); }));
}

ADD_PRIMITIVE(unique, cub) {
  const Device<Value> in(problem.keys);
  const Device<Value> out(in.size());
  const Device<Value> chosen(1);
  const int size = static_cast<int>(in.size());
  primitives::with_storage(trial, [&](void* storage, std::size_t& bytes) {
    return cub::DeviceSelect::Unique(storage, bytes, in.get(), out.get(), chosen.get(), size);
  });
  trial.compare(out.download(chosen.download()[0]),
                trial.host([&] { return primitives::unique_keys(problem); }));
}

ADD_PRIMITIVE(merge, cub) {
  const Device<Value> a(problem.sorted_a);
  const Device<Value> b(problem.sorted_b);
  const Device<Value> out(a.size() + b.size());
  primitives::with_storage(trial, [&](void* storage, std::size_t& bytes) {
    return cub::DeviceMerge::MergeKeys(storage, bytes, a.get(), static_cast<int>(a.size()), b.get(),
                                       static_cast<int>(b.size()), out.get());
  });
  trial.compare(out.download(), trial.host([&] {
    Values wanted;
    std::merge(problem.sorted_a.begin(), problem.sorted_a.end(), problem.sorted_b.begin(),
               problem.sorted_b.end(), std::back_inserter(wanted));
    return wanted;
  }));
}

}  // namespace
