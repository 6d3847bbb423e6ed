// Thrust: the most common algorithms.
#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/for_each.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/set_operations.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
#include <thrust/transform_reduce.h>
#include <thrust/unique.h>

struct Square {
  __host__ __device__ float operator()(float x) const { return x * x; }
};
struct ByLastDigit {
  __host__ __device__ bool operator()(int a, int b) const { return a % 10 < b % 10; }
};
struct Shift {
  int* data;
  __device__ void operator()(int i) const { data[i] = data[i + 1]; }
};

float algorithms(float* values, int* keys, int* output, int count) {
  using thrust::device;
  thrust::transform(device, values, values + count, values, Square());
  thrust::sort(device, keys, keys + count, ByLastDigit());
  thrust::sort_by_key(device, keys, keys + count, values);
  int* const end = thrust::unique(device, keys, keys + count);
  thrust::inclusive_scan(device, keys, end, output);
  thrust::reduce_by_key(device, keys, end, values, output, values);
  thrust::set_intersection(device, keys, end, output, output + count, output);
  thrust::for_each_n(device, keys, count, Shift{output});
  return thrust::transform_reduce(device, values, values + count, Square(), 0.F, thrust::plus<float>());
}
