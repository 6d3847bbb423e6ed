// Matrix instructions and their operands: wmma, mma.sync, ldmatrix, cp.async, and (from sm_90) bulk copies
// and transaction barriers.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>

#include <cstdint>
#include <cuda/barrier>

using namespace nvcuda;

__global__ void matrices(const half* a, const half* b, float* c, int n) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> right;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.F);
  for (int k = 0; k < n; k += 16) {
    wmma::load_matrix_sync(left, a + k, n);
    wmma::load_matrix_sync(right, b + k, n);
    wmma::mma_sync(sum, left, right, sum);
  }
  wmma::store_matrix_sync(c, sum, n, wmma::mem_row_major);
}

__global__ void bytes(const signed char* a, const signed char* b, int* c) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, signed char, wmma::col_major> right;
  wmma::fragment<wmma::accumulator, 16, 16, 16, int> sum;
  wmma::load_matrix_sync(left, a, 16);
  wmma::load_matrix_sync(right, b, 16);
  wmma::load_matrix_sync(sum, c, 16, wmma::mem_col_major);
  wmma::mma_sync(sum, left, right, sum);
  wmma::store_matrix_sync(c, sum, 16, wmma::mem_col_major);
}

__global__ void pipelined(const half* in, float* out) {
  __shared__ alignas(16) half tile[2][16 * 16];
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(&tile[0][threadIdx.x * 8]));
  for (int stage = 0; stage < 2; ++stage) {
    __pipeline_memcpy_async(&tile[stage][threadIdx.x * 8], in + stage * 256 + threadIdx.x * 8, 16);
    __pipeline_commit();
  }
  __pipeline_wait_prior(1);
  __syncthreads();
  unsigned a[4];
  unsigned b[2];
  float c[4] = {};
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
               : "r"(address));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2+16];"
               : "=r"(b[0]), "=r"(b[1])
               : "r"(address));
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  out[threadIdx.x] = c[0] + c[1] + c[2] + c[3];
}

#if __CUDA_ARCH__ >= 900
__global__ void bulk_copies(const float* in, float* out) {
  __shared__ alignas(128) float tile[256];
  __shared__ alignas(8) std::uint64_t barrier;
  const auto at = static_cast<unsigned>(__cvta_generic_to_shared(&barrier));
  const auto to = static_cast<unsigned>(__cvta_generic_to_shared(tile));
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at));
    asm volatile("fence.proxy.async.shared::cta;");
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 1024, [%2];" ::"r"(to),
        "l"(in), "r"(at)
        : "memory");
    asm volatile(
        "{ .reg .b64 state; mbarrier.arrive.expect_tx.shared::cta.b64 state, [%0], 1024; }" ::"r"(at));
  }
  __syncthreads();
  asm volatile(
      "{\n .reg .pred done;\n"
      "wait:\n mbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0;\n @!done bra wait;\n}" ::"r"(at)
      : "memory");
  out[threadIdx.x] = tile[threadIdx.x] * 2;
  asm volatile(
      "fence.proxy.async.shared::cta; cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 1024;" ::"l"(
          out + 256),
      "r"(to));
  asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;");
}
#endif
