// Device functions of all kinds: recursion, pointers, virtual functions, tables without calls, variable
// arguments, allocation.
#include <cassert>
#include <cstdio>

__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

__device__ int odd(int n);
__device__ __noinline__ int even(int n) { return n == 0 ? 1 : odd(n - 1); }
__device__ __noinline__ int odd(int n) { return n == 0 ? 0 : even(n - 1); }

struct Pair {
  double first;
  int second[3];
};
__device__ __noinline__ Pair swap(Pair pair, int at) {
  const double first = pair.second[at];
  pair.second[at] = static_cast<int>(pair.first);
  pair.first = first;
  return pair;
}

__device__ __noinline__ float twice(float x) { return x * 2; }
__device__ __noinline__ float half(float x) { return x / 2; }
using Unary = float (*)(float);
__device__ Unary table[2] = {twice, half};
__device__ __noinline__ float apply(Unary function, float x) { return function(x); }

struct Shape {
  __device__ virtual float area() const = 0;
  __device__ virtual ~Shape() {}
  float size = 1;
};
struct Square : Shape {
  __device__ float area() const override { return size * size; }
};
struct Circle : Shape {
  __device__ float area() const override { return size * size * 3.14F; }
};

__global__ void recursive(int* out) {
  out[threadIdx.x] = fibonacci(static_cast<int>(threadIdx.x)) + even(static_cast<int>(threadIdx.x));
}

__global__ void structures(Pair* pairs) { pairs[threadIdx.x] = swap(pairs[threadIdx.x], threadIdx.x % 3); }

__global__ void through_pointers(float* out, int which) { out[0] = apply(table[which & 1], out[0]); }

__global__ void virtual_functions(float* out, int which) {
  Shape* const shape = which != 0 ? static_cast<Shape*>(new Square) : static_cast<Shape*>(new Circle);
  out[0] = shape->area();
  delete shape;
}

/// Constructs an object with a virtual table without calling through it.
__global__ void only_constructs(Square* squares) { new (squares + threadIdx.x) Square; }

/// Stores a function's address, which other kernels call.
__global__ void keeps_an_address(int which) { table[0] = which != 0 ? half : twice; }

__global__ void prints(const int* values, int count) {
  assert(count > 0);
  for (int i = 0; i < count; ++i) printf("%d: %d of %s\n", i, values[i], "values");
}

__global__ void allocates(int** out, int count) {
  int* const memory = static_cast<int*>(malloc(count * sizeof(int)));
  if (memory == nullptr) __trap();
  for (int i = 0; i < count; ++i) memory[i] = i;
  if (out[1] != nullptr) free(out[1]);
  out[0] = memory;
}

/// The only exit is a trap.
__global__ void never_returns(const int* flag) {
  while (*const_cast<const volatile int*>(flag) == 0) {}
  __trap();
}

__global__ void nothing() {}
