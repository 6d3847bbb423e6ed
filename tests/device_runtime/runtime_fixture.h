// Calls the cpu device's runtime API as a program does: through the table, by name.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "device/cpu/runtime/api.h"
#include "device/cpu/runtime/runtime.h"

namespace lynxpp::device::cpu::test {

/// Returns the table's entry, or null.
void* lookup(const std::string& name);

/// For example CUDA(cudaMalloc)(&pointer, 16).
#define CUDA(name) (reinterpret_cast<decltype(&::name)>(::lynxpp::device::cpu::test::lookup(#name)))
/// The per-thread-stream form: CUDA_AS(cudaMemcpyAsync, cudaMemcpyAsync_ptsz)(…).
#define CUDA_AS(type, name) (reinterpret_cast<decltype(&::type)>(::lynxpp::device::cpu::test::lookup(#name)))

/// A fatbinary with one plain PTX entry (or, if the PTX is empty, one cubin entry), registered as by nvcc's
/// host code.
class Program {
 public:
  explicit Program(const std::string& ptx);
  /// Adds a second entry, for compute capability 9.0.
  Program(const std::string& ptx, const std::string& newer_ptx);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// Registers a kernel; the result represents the host stub's address.
  const void* kernel(const std::string& name);
  /// Registers a variable; the result represents its host shadow.
  const void* variable(const std::string& name, std::size_t bytes);
  /// Registers a managed variable; initialise() stores its address in the result.
  void** managed_variable(const std::string& name, std::size_t bytes);
  char initialise() { return CUDA(__cudaInitModule)(handle_); }
  void unregister();

 private:
  void register_binary();
  const char* keep(const std::string& name);

  struct Wrapper {
    unsigned magic = 0x466243b1;
    unsigned version = 1;
    const void* data = nullptr;
    const void* file_name = nullptr;
  };
  std::string container_;
  Wrapper wrapper_;
  void** handle_ = nullptr;
  std::vector<std::unique_ptr<std::string>> names_;
  std::vector<std::unique_ptr<void*>> stubs_;
};

/// Kernels and variables of the tests; see runtime_fixture.cpp.
extern const char* const test_ptx;

/// Starts each test with a device that was reset and no last error.
class RuntimeTest : public testing::Test {
 protected:
  RuntimeTest();
  ~RuntimeTest() override;

  /// Returns device memory with `values`, which is freed by the fixture's reset.
  static int* device_ints(const std::vector<int>& values);
  static std::vector<int> host_ints(const int* device, std::size_t count);
};

}  // namespace lynxpp::device::cpu::test
