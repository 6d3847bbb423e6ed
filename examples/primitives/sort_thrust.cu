// Sorting by Thrust, which uses radix sort for plain values with the standard order, and merge sort for
// custom orders.
#include <thrust/device_vector.h>
#include <thrust/sort.h>

#include "examples/primitives/references.h"

namespace {

using primitives::Value;
using primitives::Values;
using Vector = thrust::device_vector<Value>;

struct Before {
  __host__ __device__ bool operator()(Value a, Value b) const { return a < b; }
};

Values values_of(const Vector& vector) {
  Values values(vector.size());
  thrust::copy(vector.begin(), vector.end(), values.begin());
  return values;
}

ADD_PRIMITIVE(radix_sort, thrust) {
  Vector values = problem.values;
  trial.device([&] { thrust::sort(values.begin(), values.end()); });
  trial.compare(values_of(values), trial.host([&] { return primitives::sorted_values(problem); }));
}

ADD_PRIMITIVE(merge_sort, thrust) {
  Vector values = problem.values;
  trial.device([&] { thrust::sort(values.begin(), values.end(), Before()); });
  trial.compare(values_of(values), trial.host([&] { return primitives::sorted_values(problem); }));
}

}  // namespace
