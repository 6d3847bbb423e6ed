// Reductions and searches by Thrust.
#include <thrust/binary_search.h>
#include <thrust/count.h>
#include <thrust/device_vector.h>
#include <thrust/extrema.h>
#include <thrust/find.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/reduce.h>

#include <numeric>

#include "examples/primitives/references.h"

namespace {

using primitives::Value;
using primitives::Values;
using Vector = thrust::device_vector<Value>;

Values values_of(const Vector& vector, std::size_t count) {
  Values values(count);
  thrust::copy_n(vector.begin(), count, values.begin());
  return values;
}

ADD_PRIMITIVE(count, thrust) {
  const Vector in = problem.flags;
  std::size_t found = 0;
  trial.device([&] { found = static_cast<std::size_t>(thrust::count(in.begin(), in.end(), 1u)); });
  const auto wanted = trial.host([&] { return std::count(problem.flags.begin(), problem.flags.end(), 1u); });
  trial.compare(static_cast<Value>(found), static_cast<Value>(wanted));
}

ADD_PRIMITIVE(extrema, thrust) {
  const Vector in = problem.values;
  Value least = 0;
  Value greatest = 0;
  trial.device([&] {
    const auto [low, high] = thrust::minmax_element(in.begin(), in.end());
    least = *low;
    greatest = *high;
  });
  trial.compare({least, greatest}, trial.host([&] {
    const auto [low, high] = std::minmax_element(problem.values.begin(), problem.values.end());
    return Values{*low, *high};
  }));
}

ADD_PRIMITIVE(reduction, thrust) {
  const Vector in = problem.values;
  Value sum = 0;
  trial.device([&] { sum = thrust::reduce(in.begin(), in.end(), 0u); });
  trial.compare(sum, trial.host([&] { return primitives::sum_of(problem); }));
}

ADD_PRIMITIVE(reduction_by_key, thrust) {
  const Vector keys = problem.keys;
  const Vector in = problem.values;
  Vector out_keys(keys.size());
  Vector out(keys.size());
  std::size_t runs = 0;
  trial.device([&] {
    runs = static_cast<std::size_t>(
        thrust::reduce_by_key(keys.begin(), keys.end(), in.begin(), out_keys.begin(), out.begin()).second -
        out.begin());
  });
  trial.compare(values_of(out, runs), trial.host([&] { return primitives::sums_of_runs(problem); }));
}

ADD_PRIMITIVE(find, thrust) {
  const Vector in = problem.sorted_a;
  const Value wanted_value = problem.sorted_a[problem.sorted_a.size() * 3 / 4];
  std::size_t place = 0;
  trial.device([&] {
    place = static_cast<std::size_t>(thrust::find(in.begin(), in.end(), wanted_value) - in.begin());
  });
  const auto wanted = trial.host([&] {
    return std::find(problem.sorted_a.begin(), problem.sorted_a.end(), wanted_value) -
           problem.sorted_a.begin();
  });
  trial.compare(static_cast<Value>(place), static_cast<Value>(wanted));
}

ADD_PRIMITIVE(vectorised_binary_search, thrust) {
  const Vector in = problem.sorted_a;
  const Vector searched = problem.sorted_b;
  Vector out(searched.size());
  trial.device(
      [&] { thrust::lower_bound(in.begin(), in.end(), searched.begin(), searched.end(), out.begin()); });
  trial.compare(values_of(out, out.size()), trial.host([&] {
    Values wanted;
    for (const Value each : problem.sorted_b)
      wanted.push_back(
          static_cast<Value>(std::lower_bound(problem.sorted_a.begin(), problem.sorted_a.end(), each) -
                             problem.sorted_a.begin()));
    return wanted;
  }));
}

ADD_PRIMITIVE(load_balancing_search, thrust) {
  const Vector offsets = problem.offsets;
  const std::size_t size = problem.values.size();
  Vector out(size);
  const auto first = thrust::make_counting_iterator(Value{0});
  trial.device([&] {
    thrust::upper_bound(offsets.begin(), offsets.end() - 1, first, first + static_cast<std::ptrdiff_t>(size),
                        out.begin());
  });
  Values found = values_of(out, size);
  for (Value& each : found) --each;
  trial.compare(found, trial.host([&] { return primitives::owners(problem); }));
}

}  // namespace
