// Control flow: jump tables, early exits, loops with several exits, irreducible regions, labels in nested
// scopes.
__global__ void jump_table(int* out, const int* in, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) return;
  int value = in[i];
  switch (value) {
    case 0: value = in[i + 7] * 3; break;
    case 1: out[i + 1] = 5; [[fallthrough]];
    case 2: value += out[i]; break;
    case 3: return;
    case 4: value ^= 0x55; break;
    case 5: __trap();
    case 6: value = -value; break;
    case 9: value = __popc(static_cast<unsigned>(value)); break;
    default: value /= 3;
  }
  out[i] = value;
}

__global__ void nested_loops(float* out, const float* in, int rows, int columns) {
  float sum = 0;
  for (int row = static_cast<int>(threadIdx.x); row < rows; row += static_cast<int>(blockDim.x)) {
    for (int column = 0; column < columns; ++column) {
      const float value = in[row * columns + column];
      if (value < 0) break;
      if (value > 100) continue;
      int steps = 0;
      float estimate = value;
      do {
        estimate = 0.5F * (estimate + value / estimate);
      } while (++steps < 20 && estimate * estimate - value > 1e-3F);
      sum += estimate;
    }
    if (sum > 1e6F) goto done;
  }
  out[1] = 1;
done:
  out[0] = sum;
}

__global__ void two_entries(int* out, int x) {
  int i = 0;
  if (x > 3) goto middle;
top:
  out[i] = x;
  ++i;
middle:
  out[i + 1] += x;
  if (i < x) goto top;
}

__global__ void early_exits(int* out) {
  if (threadIdx.x == 3) asm volatile("exit;");
  if (out[0] == 4) return;
  __syncthreads();
  out[threadIdx.x] = static_cast<int>(__syncthreads_count(out[threadIdx.x]));
  if (threadIdx.x > 64) return;
  out[threadIdx.x + 128] = 4;
}

__global__ void assembly(int* out, const int* in) {
  int result = 0;
  asm volatile(
      "{\n"
      "  .reg .pred p, q;\n"
      "  .reg .b32 t<3>;\n"
      "  .local .align 8 .b8 stack[16];\n"
      "  .reg .b64 address;\n"
      "  mov.u64 address, stack;\n"
      "  ld.global.u32 t1, [%1];\n"
      "again:\n"
      "  { .reg .b32 t1; mov.u32 t1, 3; st.local.u32 [address+4], t1; }\n"
      "  ld.local.u32 t2, [address+4];\n"
      "  setp.gt.and.s32 p|q, t1, t2, 1;\n"
      "  @p sub.s32 t1, t1, t2;\n"
      "  @p bra.uni again;\n"
      "  @!q add.s32 t1, t1, 1;\n"
      "  mov.u32 %0, t1;\n"
      "}\n"
      : "=r"(result)
      : "l"(in));
  out[0] = result;
}

__global__ void __maxnreg__(64) limited_registers(double* out, const double* in) {
  double sum = 0;
#pragma unroll 8
  for (int i = 0; i < 64; ++i) sum = fma(in[i], in[63 - i], sum);
  out[threadIdx.x] = sum;
}
