// Launches a kernel once, waits for it, and ends in the requested way:
//   endings abort | _exit | quick_exit | ignored | fork
//   endings signal NUMBER         raises it
//   endings written NUMBER        the same, once LYNXPP_OUTPUT has the launch's record
//   endings inside NUMBER         sends it to itself while an endless kernel runs
//   endings exit-inside | handled-inside    the same, with SIGINT and the program's own handler
#include <cuda_runtime.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>

__global__ void step(int* value) { atomicAdd(value, 1); }

__global__ void wait_for_host(volatile int* state) {
  *state = 1;
  while (*state != 2) {}
}

namespace {

int* state = nullptr;

/// Launches a kernel that ends when `*state` is 2, and sends the signal to the process once it runs.
void launch_and_send(int signal) {
  if (cudaMallocHost(&state, sizeof(int)) != cudaSuccess) std::exit(2);
  *state = 0;
  std::thread([signal] {
    while (*static_cast<volatile int*>(state) != 1) std::this_thread::yield();
    kill(getpid(), signal);
  }).detach();
  wait_for_host<<<1, 1>>>(state);
}

void leave(int) { std::exit(7); }

void let_go(int) { *state = 2; }

int fork_and_die() {
  const pid_t child = fork();
  if (child == 0) {
    raise(SIGTERM);
    _exit(1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  std::printf("endings: the child died of %d\n", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
  return 0;
}

bool has_record() {
  std::ifstream file(std::getenv("LYNXPP_OUTPUT"));
  for (std::string line; std::getline(file, line);) {
    if (line.find("\"record\":\"launch\"") != std::string::npos) return true;
  }
  return false;
}

int end(const char* how, int number) {
  const auto is = [how](const char* name) { return std::strcmp(how, name) == 0; };
  if (is("abort")) std::abort();
  if (is("_exit")) _exit(3);
  if (is("quick_exit")) std::quick_exit(4);
  if (is("fork")) return fork_and_die();
  if (is("signal")) return raise(number);
  if (is("written")) {
    while (!has_record()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return raise(number);
  }
  if (is("ignored")) {
    std::signal(SIGINT, SIG_IGN);
    return raise(SIGINT);
  }
  if (is("inside")) launch_and_send(number);
  if (is("exit-inside")) {
    std::signal(SIGINT, leave);
    launch_and_send(SIGINT);
  }
  if (is("handled-inside")) {
    std::signal(SIGINT, let_go);
    launch_and_send(SIGINT);
  }
  return cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) return 2;
  int* value = nullptr;
  if (cudaMalloc(&value, sizeof(int)) != cudaSuccess || cudaMemset(value, 0, sizeof(int)) != cudaSuccess)
    return 2;
  step<<<2, 40>>>(value);
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  std::printf("endings: %s\n", arguments[1]);
  std::fflush(stdout);
  return end(arguments[1], count > 2 ? std::atoi(arguments[2]) : 0);
}
