// Sizes of the kernels with asynchronous operations, and their instructions as macros, so that findings name
// the line of the kernel that uses them.
#pragma once

#include <cstdint>

inline constexpr int threads = 64;
inline constexpr int elements = 4 * threads;  // each thread copies 16 bytes
inline constexpr int last = elements - 1;
inline constexpr int bytes = elements * static_cast<int>(sizeof(int));

__device__ inline unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}
/// The address in the shared memory of a block of the cluster.
__device__ inline unsigned cluster_address(const void* pointer, unsigned rank = 0) {
  unsigned address = 0;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
               : "=r"(address)
               : "r"(shared_address(pointer)), "r"(rank));
  return address;
}

#define COPY_16(to, from) \
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from) : "memory")
#define COMMIT() asm volatile("cp.async.commit_group;" ::: "memory")
#define WAIT_GROUP(n) asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory")
#define WAIT_ALL() asm volatile("cp.async.wait_all;" ::: "memory")
#define COPIES_ARRIVE(object) \
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(shared_address(object)) : "memory")

#define BULK_LOAD(to, from, bytes, object)                                                             \
  asm volatile(                                                                                        \
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"( \
          shared_address(to)),                                                                         \
      "l"(from), "r"(bytes), "r"(shared_address(object))                                               \
      : "memory")
#define BULK_STORE(to, from, bytes)                                                     \
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), \
               "r"(shared_address(from)), "r"(bytes)                                    \
               : "memory")
#define BULK_ADD(to, from, bytes)                                                                      \
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s32 [%0], [%1], %2;" ::"l"(to), \
               "r"(shared_address(from)), "r"(bytes)                                                   \
               : "memory")
#define BULK_COMMIT() asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define BULK_WAIT(n) asm volatile("cp.async.bulk.wait_group %0;" ::"n"(n) : "memory")
#define BULK_WAIT_READ(n) asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(n) : "memory")
#define PROXY_FENCE() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")

#define ASYNC_STORE(to, value, object)                                                            \
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"( \
                   cluster_address(to)),                                                          \
               "r"(value), "r"(cluster_address(object))                                           \
               : "memory")
#define ASYNC_ADD(to, value, object)                                                                      \
  asm volatile(                                                                                           \
      "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, [%2];" :: \
          "r"(cluster_address(to)),                                                                       \
      "r"(value), "r"(cluster_address(object))                                                            \
      : "memory")

#define INIT(object, count) \
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(object)), "r"(count) : "memory")
#define INVALIDATE(object) \
  asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(shared_address(object)) : "memory")
#define ARRIVE(object) \
  asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(shared_address(object)) : "memory")
#define ARRIVE_RELAXED(object) \
  asm volatile("mbarrier.arrive.relaxed.cta.shared.b64 _, [%0];" ::"r"(shared_address(object)) : "memory")
#define ARRIVE_EXPECT(object, bytes)                                                                         \
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(shared_address(object)), "r"(bytes) \
               : "memory")
#define EXPECT(object, bytes)                                                                       \
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared.b64 [%0], %1;" ::"r"(shared_address(object)), \
               "r"(bytes)                                                                           \
               : "memory")
#define TEST(done, object, parity)                                                                         \
  asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" \
               : "=r"(done)                                                                                \
               : "r"(shared_address(object)), "r"(parity)                                                  \
               : "memory")
#define WAIT_OBJECT(object, parity)                                                                     \
  asm volatile(                                                                                         \
      "{ .reg .pred p; again: mbarrier.try_wait.parity.shared.b64 p, [%0], %1; @!p bra again; }" ::"r"( \
          shared_address(object)),                                                                      \
      "r"(parity)                                                                                       \
      : "memory")

// Tensor copies of two dimensions.
#define TENSOR_LOAD(to, map, x, y, object)                                                           \
  asm volatile(                                                                                      \
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, " \
      "{%2, %3}], [%4];" ::"r"(shared_address(to)),                                                  \
      "l"(map), "r"(x), "r"(y), "r"(shared_address(object))                                          \
      : "memory")
#define TENSOR_STORE(map, x, y, from)                                                                        \
  asm volatile(                                                                                              \
      "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map), "r"(x), \
      "r"(y), "r"(shared_address(from))                                                                      \
      : "memory")
#define TENSOR_ADD(map, x, y, from)                                                                        \
  asm volatile(                                                                                            \
      "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"( \
          map),                                                                                            \
      "r"(x), "r"(y), "r"(shared_address(from))                                                            \
      : "memory")
#define TENSOR_PREFETCH(map, x, y)                                                                          \
  asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%0, {%1, %2}];" ::"l"(map), "r"(x), "r"(y) \
               : "memory")

// Between the blocks of a cluster: addresses are those that cluster_address() returns.
#define CLUSTER_BARRIER() asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory")
#define REMOTE_STORE(to, value, object)                                                               \
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(to), \
               "r"(value), "r"(object)                                                                \
               : "memory")
#define REMOTE_ARRIVE(object) \
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(object) : "memory")
#define COPY_TO_BLOCK(to, from, bytes, object)                                                              \
  asm volatile(                                                                                             \
      "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"( \
          to),                                                                                              \
      "r"(shared_address(from)), "r"(bytes), "r"(object)                                                    \
      : "memory")
#define MULTICAST(to, from, bytes, object, blocks)                                                        \
  asm volatile(                                                                                           \
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], " \
      "%2, "                                                                                              \
      "[%3], %4;" ::"r"(shared_address(to)),                                                              \
      "l"(from), "r"(bytes), "r"(shared_address(object)), "h"(static_cast<unsigned short>(blocks))        \
      : "memory")
