/* Uses lynxpp.h from C, in a program that launches nothing: prints what each function returns. */
#include <stdio.h>

#include "interposer/lynxpp.h"

static void count(void* context, const lynxpp_result* result) {
  (void)result;
  ++*(int*)context;
}

int main(void) {
  int taken = 0;
  printf("attached %d\n", lynxpp_attached());
  printf("attach nonsense %d\n", lynxpp_attach("no_such_specification"));
  printf("attached %d\n", lynxpp_attached());
  printf("attach %d\n", lynxpp_attach("instruction_count,kernel_runtime"));
  printf("attached %d\n", lynxpp_attached());
  printf("again %d\n", lynxpp_attach("instruction_count,kernel_runtime"));
  printf("poll %d", (int)lynxpp_poll(count, &taken));
  printf(" %d, missed %d\n", taken, (int)lynxpp_missed());
  lynxpp_detach();
  printf("attached %d\n", lynxpp_attached());
  return 0;
}
