// Prefix scans by Thrust.
#include <thrust/device_vector.h>
#include <thrust/scan.h>

#include "examples/primitives/references.h"

namespace {

using primitives::Value;
using primitives::Values;
using Vector = thrust::device_vector<Value>;

Values values_of(const Vector& vector) {
  Values values(vector.size());
  thrust::copy(vector.begin(), vector.end(), values.begin());
  return values;
}

ADD_PRIMITIVE(inclusive_scan, thrust) {
  const Vector in = problem.values;
  Vector out(in.size());
  trial.device([&] { thrust::inclusive_scan(in.begin(), in.end(), out.begin()); });
  trial.compare(values_of(out), trial.host([&] { return primitives::inclusive_sums(problem); }));
}

ADD_PRIMITIVE(exclusive_scan, thrust) {
  const Vector in = problem.values;
  Vector out(in.size());
  trial.device([&] { thrust::exclusive_scan(in.begin(), in.end(), out.begin(), 0u); });
  trial.compare(values_of(out), trial.host([&] { return primitives::exclusive_sums(problem); }));
}

ADD_PRIMITIVE(scan_by_key, thrust) {
  const Vector keys = problem.keys;
  const Vector in = problem.values;
  Vector out(in.size());
  trial.device([&] { thrust::inclusive_scan_by_key(keys.begin(), keys.end(), in.begin(), out.begin()); });
  trial.compare(values_of(out), trial.host([&] { return primitives::sums_within_runs(problem); }));
}

}  // namespace
