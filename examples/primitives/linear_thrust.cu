// Independent linear transformations and advanced copying, by Thrust.
#include <thrust/adjacent_difference.h>
#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/equal.h>
#include <thrust/fill.h>
#include <thrust/gather.h>
#include <thrust/scatter.h>
#include <thrust/transform.h>

#include <numeric>

#include "examples/primitives/primitives.h"

namespace {

using primitives::Value;
using primitives::Values;
using Vector = thrust::device_vector<Value>;

struct Change {
  __host__ __device__ Value operator()(Value x) const { return 3 * x + 1; }
};
struct Set {
  __host__ __device__ bool operator()(Value flag) const { return flag != 0; }
};

Values values_of(const Vector& vector) {
  Values values(vector.size());
  thrust::copy(vector.begin(), vector.end(), values.begin());
  return values;
}

ADD_PRIMITIVE(fill, thrust) {
  Vector out(problem.values.size());
  trial.device([&] { thrust::fill(out.begin(), out.end(), 7u); });
  trial.compare(values_of(out), trial.host([&] { return Values(problem.values.size(), 7u); }));
}

ADD_PRIMITIVE(transform, thrust) {
  const Vector in = problem.values;
  Vector out(in.size());
  trial.device([&] { thrust::transform(in.begin(), in.end(), out.begin(), Change()); });
  trial.compare(values_of(out), trial.host([&] {
    Values wanted = problem.values;
    std::transform(wanted.begin(), wanted.end(), wanted.begin(), Change());
    return wanted;
  }));
}

ADD_PRIMITIVE(transform_if, thrust) {
  const Vector in = problem.values;
  const Vector flags = problem.flags;
  Vector out(in.size(), 0u);
  trial.device(
      [&] { thrust::transform_if(in.begin(), in.end(), flags.begin(), out.begin(), Change(), Set()); });
  trial.compare(values_of(out), trial.host([&] {
    Values wanted(problem.values.size(), 0u);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (problem.flags[i] != 0) wanted[i] = Change()(problem.values[i]);
    }
    return wanted;
  }));
}

ADD_PRIMITIVE(adjacent_difference, thrust) {
  const Vector in = problem.sorted_a;
  Vector out(in.size());
  trial.device([&] { thrust::adjacent_difference(in.begin(), in.end(), out.begin()); });
  trial.compare(values_of(out), trial.host([&] {
    Values wanted(problem.sorted_a.size());
    std::adjacent_difference(problem.sorted_a.begin(), problem.sorted_a.end(), wanted.begin());
    return wanted;
  }));
}

ADD_PRIMITIVE(comparison, thrust) {
  const Vector a = problem.values;
  const Vector b = problem.values;
  bool same = false;
  trial.device([&] { same = thrust::equal(a.begin(), a.end(), b.begin()); });
  const bool wanted = trial.host(
      [&] { return std::equal(problem.values.begin(), problem.values.end(), problem.values.begin()); });
  trial.compare(Value{same}, Value{wanted});
}

ADD_PRIMITIVE(copy, thrust) {
  const Vector in = problem.values;
  Vector out(in.size());
  trial.device([&] { thrust::copy_n(in.begin(), in.size(), out.begin()); });
  trial.compare(values_of(out), trial.host([&] { return Values(problem.values); }));
}

ADD_PRIMITIVE(gather, thrust) {
  const Vector in = problem.values;
  const Vector map = problem.permutation;
  Vector out(in.size());
  trial.device([&] { thrust::gather(map.begin(), map.end(), in.begin(), out.begin()); });
  trial.compare(values_of(out), trial.host([&] {
    Values wanted;
    for (const Value from : problem.permutation) wanted.push_back(problem.values[from]);
    return wanted;
  }));
}

ADD_PRIMITIVE(gather_if, thrust) {
  const Vector in = problem.values;
  const Vector map = problem.permutation;
  const Vector flags = problem.flags;
  Vector out(in.size(), 0u);
  trial.device(
      [&] { thrust::gather_if(map.begin(), map.end(), flags.begin(), in.begin(), out.begin(), Set()); });
  trial.compare(values_of(out), trial.host([&] {
    Values wanted(problem.values.size(), 0u);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (problem.flags[i] != 0) wanted[i] = problem.values[problem.permutation[i]];
    }
    return wanted;
  }));
}

ADD_PRIMITIVE(scatter, thrust) {
  const Vector in = problem.values;
  const Vector map = problem.permutation;
  Vector out(in.size());
  trial.device([&] { thrust::scatter(in.begin(), in.end(), map.begin(), out.begin()); });
  trial.compare(values_of(out), trial.host([&] {
    Values wanted(problem.values.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) wanted[problem.permutation[i]] = problem.values[i];
    return wanted;
  }));
}

ADD_PRIMITIVE(scatter_if, thrust) {
  const Vector in = problem.values;
  const Vector map = problem.permutation;
  const Vector flags = problem.flags;
  Vector out(in.size(), 0u);
  trial.device(
      [&] { thrust::scatter_if(in.begin(), in.end(), map.begin(), flags.begin(), out.begin(), Set()); });
  trial.compare(values_of(out), trial.host([&] {
    Values wanted(problem.values.size(), 0u);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (problem.flags[i] != 0) wanted[problem.permutation[i]] = problem.values[i];
    }
    return wanted;
  }));
}

}  // namespace
