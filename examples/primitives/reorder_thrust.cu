// Reordering and sets of sorted values, by Thrust.
#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/functional.h>
#include <thrust/merge.h>
#include <thrust/partition.h>
#include <thrust/set_operations.h>
#include <thrust/unique.h>

#include <iterator>

#include "examples/primitives/references.h"

namespace {

using primitives::Value;
using primitives::Values;
using Vector = thrust::device_vector<Value>;

struct Set {
  __host__ __device__ bool operator()(Value flag) const { return flag != 0; }
};

Values values_of(const Vector& vector, std::size_t count) {
  Values values(count);
  thrust::copy_n(vector.begin(), count, values.begin());
  return values;
}

ADD_PRIMITIVE(partition, thrust) {
  const Vector flags = problem.flags;
  Vector out = problem.values;
  trial.device([&] { thrust::stable_partition(out.begin(), out.end(), flags.begin(), Set()); });
  trial.compare(values_of(out, out.size()), trial.host([&] { return primitives::flagged(problem, true); }));
}

ADD_PRIMITIVE(compaction, thrust) {
  const Vector in = problem.values;
  const Vector flags = problem.flags;
  Vector out(in.size());
  std::size_t kept = 0;
  trial.device([&] {
    kept = static_cast<std::size_t>(thrust::copy_if(in.begin(), in.end(), flags.begin(), out.begin(), Set()) -
                                    out.begin());
  });
  trial.compare(values_of(out, kept), trial.host([&] { return primitives::flagged(problem, false); }));
}

ADD_PRIMITIVE(unique, thrust) {
  const Vector in = problem.keys;
  Vector out(in.size());
  std::size_t kept = 0;
  trial.device([&] {
    kept = static_cast<std::size_t>(thrust::unique_copy(in.begin(), in.end(), out.begin()) - out.begin());
  });
  trial.compare(values_of(out, kept), trial.host([&] { return primitives::unique_keys(problem); }));
}

ADD_PRIMITIVE(merge, thrust) {
  const Vector a = problem.sorted_a;
  const Vector b = problem.sorted_b;
  Vector out(a.size() + b.size());
  trial.device([&] { thrust::merge(a.begin(), a.end(), b.begin(), b.end(), out.begin()); });
  trial.compare(values_of(out, out.size()), trial.host([&] {
    Values wanted;
    std::merge(problem.sorted_a.begin(), problem.sorted_a.end(), problem.sorted_b.begin(),
               problem.sorted_b.end(), std::back_inserter(wanted));
    return wanted;
  }));
}

#define ADD_SET_OPERATION(name, function)                                                       \
  ADD_PRIMITIVE(name, thrust) {                                                                 \
    const Vector a = problem.sorted_a;                                                          \
    const Vector b = problem.sorted_b;                                                          \
    Vector out(a.size() + b.size());                                                            \
    std::size_t kept = 0;                                                                       \
    trial.device([&] {                                                                          \
      kept = static_cast<std::size_t>(                                                          \
          thrust::function(a.begin(), a.end(), b.begin(), b.end(), out.begin()) - out.begin()); \
    });                                                                                         \
    trial.compare(values_of(out, kept), trial.host([&] {                                        \
      Values wanted;                                                                            \
      std::function(problem.sorted_a.begin(), problem.sorted_a.end(), problem.sorted_b.begin(), \
                    problem.sorted_b.end(), std::back_inserter(wanted));                        \
      return wanted;                                                                            \
    }));                                                                                        \
  }

ADD_SET_OPERATION(set_union, set_union)
ADD_SET_OPERATION(set_intersection, set_intersection)
ADD_SET_OPERATION(set_difference, set_difference)

}  // namespace
