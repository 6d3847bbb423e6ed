// Votes, shuffles, matches, packed arithmetic, conversions of narrow types, clocks.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

__global__ void votes(unsigned* out, const int* in) {
  const unsigned lane = threadIdx.x & 31U;
  const int value = in[threadIdx.x];
  unsigned sum = __ballot_sync(~0U, value > 3);
  if (__any_sync(~0U, value == 5)) sum += __shfl_up_sync(~0U, value, 2);
  if (__all_sync(~0U, value != 6)) sum += __shfl_sync(~0U, value, lane ^ 3, 16);
  sum += __match_any_sync(__activemask(), value);
  int same = 0;
  sum += __match_all_sync(~0U, value, &same) + static_cast<unsigned>(same);
#if __CUDA_ARCH__ >= 800
  sum += __reduce_max_sync(~0U, sum) + __reduce_or_sync(~0U, sum);
#endif
  __syncwarp();
  double wide = in[3];
  wide += __shfl_xor_sync(~0U, wide, 8);
  out[threadIdx.x] = sum + static_cast<unsigned>(wide) + __fns(sum, 0, 3);
}

__global__ void packed(unsigned* out, const __half2* halves, __nv_bfloat162* wide,
                       const __nv_fp8_e4m3* narrow) {
  unsigned sum = __vaddss4(out[0], out[1]) + __vabsdiffu4(out[2], out[3]) + __vcmpgts2(out[4], out[5]);
  sum = __dp4a(sum, out[6], out[7]) + __byte_perm(sum, out[8], 0x5410) + __funnelshift_l(sum, out[9], 5);
  sum += __sad(static_cast<int>(out[1]), 4, 5U) + __brev(sum) + __clz(static_cast<int>(sum)) +
         __ffs(static_cast<int>(sum));
  const __half2 product = __hfma2_relu(halves[0], halves[1], h2sqrt(halves[2]));
  wide[0] = __hmax2_nan(wide[1], __hmul2(wide[2], wide[3]));
  out[10] = sum + static_cast<unsigned>(__low2float(product) + static_cast<float>(narrow[3]));
  asm("vadd.s32.s32.s32.sat %0, %1, %2;" : "=r"(out[11]) : "r"(sum), "r"(3));
}

__global__ void arithmetic(double* out, const float* in, long long* integers) {
  const float x = in[threadIdx.x];
  out[0] = __fmaf_rn(x, __frcp_rn(x), __fsqrt_rz(x)) + sinf(x) * __cosf(x) + powf(x, 2.5F) + erff(x);
  out[1] = sin(out[2]) + exp(out[3]) / sqrt(out[4]) + __ddiv_rd(out[5], out[6]) + fmod(out[7], 3.0);
  integers[0] = __mul64hi(integers[1], integers[2]) / integers[3] + integers[4] % 7;
  integers[5] =
      static_cast<long long>(clock64()) + static_cast<long long>(__double2ll_rd(out[8])) + llrintf(x);
  unsigned carry = 0;
  asm("add.cc.u32 %0, %1, %2; addc.u32 %0, %0, 0;"
      : "=r"(carry)
      : "r"(static_cast<unsigned>(integers[6])), "r"(5U));
  integers[7] = carry;
  __nanosleep(20);
}
