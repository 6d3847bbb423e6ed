#include "interposer/preload/tensor_maps.h"

#include <new>

#include "interposer/preload/quietly.h"

namespace lynxpp::preload {

TensorBoxes& tensor_boxes() {
  alignas(TensorBoxes) static char storage[sizeof(TensorBoxes)];
  static TensorBoxes* const only = new (storage) TensorBoxes;
  return *only;
}

int find_tensor_box(const void* map, lynxpp_tensor_box* box) {
  const auto found = quietly([&] { return tensor_boxes().find(map); });
  if (!found) return 0;
  *box = {found->bytes, found->rank, found->is_im2col ? 1 : 0, found->is_dense ? 1 : 0};
  return 1;
}

}  // namespace lynxpp::preload
