#include "tests/device_simt/textures/object_fixture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "device/cpu/simt/textures/objects.h"
#include "tests/device_simt/kernel_fixture.h"

namespace lynxpp::device::cpu::test {

TestImage::TestImage(const TexelFormat& format, ImageShape shape, const ImageSize& size) {
  image.format = format;
  image.shape = shape;
  std::uint64_t end = 0;
  for (unsigned i = 0; i < size.levels; ++i) {
    ImageLevel level;
    level.width = std::max(size.width >> i, 1u);
    level.height = std::max(size.height >> i, 1u);
    level.slices = shape == ImageShape::volume ? std::max(size.slices >> i, 1u) : size.slices;
    level.row_bytes = std::uint64_t{level.width} * format.bytes();
    level.slice_bytes = level.row_bytes * level.height;
    level.address = end;
    end += (level.slice_bytes * level.slices + 15) / 16 * 16;
    image.levels.push_back(level);
  }
  memory_.resize(end / 8 + 2);
  const auto base = (reinterpret_cast<std::uintptr_t>(memory_.data()) + 15) / 16 * 16;
  std::uint32_t state = 7;
  for (unsigned i = 0; i < size.levels; ++i) {
    ImageLevel& level = image.levels[i];
    level.address += base;
    const std::uint64_t components = level.slice_bytes * level.slices / format.component_bytes();
    auto* const to = reinterpret_cast<std::byte*>(level.address);
    for (std::uint64_t at = 0; at < components; ++at) {
      state = state * 1664525u + 1013904223u;
      std::uint32_t value = state >> 8;
      // Quarters below 64: sums with weights of few bits are exact.
      const float number = static_cast<float>(value % 256) / 4;
      if (format.component == Component::f32) value = std::bit_cast<std::uint32_t>(number);
      if (format.component == Component::f16) {
        // Exact: the exponent's bias differs, and 13 bits of the fraction are zeros.
        const auto bits = std::bit_cast<std::uint32_t>(number);
        value = number == 0 ? 0 : (bits >> 13) - ((127 - 15) << 10);
      }
      std::memcpy(to + at * format.component_bytes(), &value, format.component_bytes());
    }
  }
}

std::byte* TestImage::at(unsigned level, std::int64_t slice, std::int64_t y, std::int64_t x) {
  const ImageLevel& at = image.levels[level];
  return reinterpret_cast<std::byte*>(at.address) + slice * static_cast<std::int64_t>(at.slice_bytes) +
         y * static_cast<std::int64_t>(at.row_bytes) + x * image.format.bytes();
}

std::uint32_t TestImage::raw(unsigned level, std::int64_t slice, std::int64_t y, std::int64_t x,
                             unsigned channel) const {
  std::uint32_t value = 0;
  const unsigned bytes = image.format.component_bytes();
  std::memcpy(&value, const_cast<TestImage*>(this)->at(level, slice, y, x) + channel * bytes, bytes);
  return value;
}

TestObject::TestObject(const ImageObject& object) : handle_(image_objects().add(object)) {}
TestObject::~TestObject() { image_objects().remove(handle_); }

std::string registers(const std::string& name, unsigned first, unsigned count) {
  std::string text = "{";
  for (unsigned i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + name + std::to_string(first + i);
  return text + "}";
}

std::vector<WarpValues> run_on_object(const ObjectInstruction& instruction, std::uint64_t handle,
                                      const std::vector<WarpValues>& in, std::string* error) {
  const unsigned all = instruction.results + (instruction.has_predicate ? 1 : 0);
  std::vector<WarpValues> out(all, WarpValues{});
  EXPECT_EQ(in.size(), instruction.sources) << instruction.text;
  std::string declarations;
  std::string before;
  std::string after;
  const auto place = [](const std::string& pointer, unsigned index) {
    return "[" + pointer + "+" + std::to_string(index * 256) + "]";
  };
  const std::string source_type = "b" + std::to_string(instruction.source_bits);
  for (unsigned i = 0; i < instruction.sources; ++i) {
    const std::string name = "%s" + std::to_string(i);
    declarations += "  .reg ." + source_type + " " + name + ";\n";
    before += "  ld.global." + source_type + " " + name + ", " + place("%in", i) + ";\n";
  }
  const std::string result_type = "b" + std::to_string(instruction.result_bits);
  for (unsigned i = 0; i < instruction.results; ++i) {
    const std::string name = "%d" + std::to_string(i);
    declarations += "  .reg ." + result_type + " " + name + ";\n";
    after += "  st.global." + result_type + " " + place("%out", i) + ", " + name + ";\n";
  }
  if (instruction.has_predicate)
    after += "  selp.b32 %t, 1, 0, %p;\n  st.global.b32 " + place("%out", instruction.results) + ", %t;\n";
  const std::string kernel =
      ".visible .entry test(.param .u64 p0, .param .u64 p1, .param .u64 p2) {\n  .reg .b64 %in, %out, %at, "
      "%h;\n"
      "  .reg .b32 %t;\n  .reg .pred %p;\n" +
      declarations +
      "  mov.u32 %t, %tid.x;\n  mul.wide.u32 %at, %t, 8;\n  ld.param.u64 %in, [p0];\n"
      "  ld.param.u64 %out, [p1];\n  ld.param.u64 %h, [p2];\n  add.u64 %in, %in, %at;\n"
      "  add.u64 %out, %out, %at;\n" +
      before + "  " + instruction.text + ";\n" + after + "  ret;\n}\n";
  const auto module = load(kernel);
  if (module == nullptr) return out;
  const WarpValues* const from = in.data();
  WarpValues* const to = out.data();
  const std::string said = text_of(
      module->launch("test", {{1, 1, 1}, {32, 1, 1}, 0}, Arguments(from, to, handle).bytes(), nullptr));
  if (error != nullptr) {
    *error = said;
  } else {
    EXPECT_EQ(said, "") << instruction.text;
  }
  return out;
}

}  // namespace lynxpp::device::cpu::test
