// Images in memory, objects on them, and one instruction on an object for all lanes of a warp.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "device/cpu/simt/textures/image.h"
#include "tests/device_simt/operation_fixture.h"

namespace lynxpp::device::cpu::test {

/// Sizes of the first level, in elements.
struct ImageSize {
  std::uint32_t width = 8;
  std::uint32_t height = 1;
  std::uint32_t slices = 1;
  unsigned levels = 1;
};

/// An image whose elements are numbered by position.
class TestImage {
 public:
  TestImage(const TexelFormat& format, ImageShape shape, const ImageSize& size);
  TestImage(const TestImage&) = delete;
  TestImage& operator=(const TestImage&) = delete;

  Image image;
  /// Returns the component of an element as it is stored in memory.
  std::uint32_t raw(unsigned level, std::int64_t slice, std::int64_t y, std::int64_t x,
                    unsigned channel) const;
  /// Returns the first byte of an element.
  std::byte* at(unsigned level, std::int64_t slice, std::int64_t y, std::int64_t x);

 private:
  std::vector<std::uint64_t> memory_;
};

/// A handle that exists during a test.
class TestObject {
 public:
  explicit TestObject(const ImageObject& object);
  ~TestObject();
  TestObject(const TestObject&) = delete;
  TestObject& operator=(const TestObject&) = delete;
  std::uint64_t handle() const { return handle_; }

 private:
  std::uint64_t handle_;
};

/// An instruction with the handle %h, sources %s0, … and results %d0, …
struct ObjectInstruction {
  std::string text;  ///< "tex.2d.v4.f32.f32 {%d0, %d1, %d2, %d3}, [%h, {%s0, %s1}]"
  unsigned results = 4;
  unsigned result_bits = 32;
  unsigned sources = 2;
  unsigned source_bits = 32;
  bool has_predicate = false;  ///< true if the text names %p, which becomes an additional result
};

/// Returns "{%d0, %d1}", "%s2" and similar.
std::string registers(const std::string& name, unsigned first, unsigned count);

/// Returns the contents of the result registers. `error` receives the launch's error, or an empty string.
std::vector<WarpValues> run_on_object(const ObjectInstruction& instruction, std::uint64_t handle,
                                      const std::vector<WarpValues>& in, std::string* error = nullptr);

}  // namespace lynxpp::device::cpu::test
