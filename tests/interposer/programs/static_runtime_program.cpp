// Looks like a program with a statically linked CUDA runtime: it has a .nvFatBinSegment section and opens the
// driver itself.
#include <dlfcn.h>

#include <cstdio>

#ifndef WITHOUT_DEVICE_CODE
[[gnu::section(".nvFatBinSegment"), gnu::used]] const unsigned wrapper[6] = {0x466243b1, 1};
#endif

int main() {
  for (int i = 0; i < 2; ++i) {
    if (dlopen("libcuda.so.1", RTLD_NOW) == nullptr) puts("no driver");
  }
}
