#include "interposer/results/tensor_copy_sizes.h"

#include <cstddef>

namespace lynxpp::interposer {

std::vector<cod::TensorCopySize> tensor_copy_sizes(const engine::Instrumented& variant,
                                                   const device::Launch& launch,
                                                   const TensorBoxReader& find_box) {
  constexpr std::uint64_t line_bytes = 128;
  std::vector<cod::TensorCopySize> sizes;
  if (variant.tensor_copies.empty() || !find_box) return sizes;
  const Result<std::vector<std::byte>> parameters = device::parameter_buffer(launch, variant.parameters);
  if (!parameters) return sizes;
  for (const engine::TensorCopySite& site : variant.tensor_copies) {
    const std::optional<TensorBox> box = find_box(parameters->data() + site.parameter_byte);
    cod::TensorCopySize& size = sizes.emplace_back(cod::TensorCopySize{.instruction = site.instruction});
    if (!box || box->rank != site.rank || box->is_im2col != site.is_im2col) continue;
    size.bytes = box->bytes * site.rows;
    if (box->is_dense) size.lines = (size.bytes + line_bytes - 1) / line_bytes;
  }
  return sizes;
}

}  // namespace lynxpp::interposer
