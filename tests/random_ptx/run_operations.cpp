// Executes each operation of random PTX programs separately, through the driver, and compares its results
// with the host's. Identifies the operation if a random program differs.
//
// usage: run_operations [PTX FILE]
//
// An operation that writes the carry flag is followed by each that reads it. PTX FILE: receives the module.
// Exit status: 0 equal, 1 different.
#include <cuda.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "builder.h"
#include "operations.h"

namespace {

using lynxpp::random_ptx::Operation;
using lynxpp::random_ptx::Register;
using lynxpp::random_ptx::Word;

constexpr std::size_t thread_count = 256;
constexpr std::size_t words_of_thread = 8;

void check(CUresult result, const char* what) {
  const char* text = "?";
  if (result == CUDA_SUCCESS) return;
  cuGetErrorName(result, &text);
  std::fprintf(stderr, "%s: %s\n", what, text);
  std::exit(1);
}

/// One operation or two consecutive ones, the second with the carry flag of the first.
struct Kernel {
  std::vector<const Operation*> steps;
  std::optional<Word> immediate;  ///< the last source of the last step
  bool is_guarded = false;        ///< guarded by the parity of the input's last word
};

/// How a type is declared, read from the 64 bits in %z, and written to them.
struct Spelling {
  const char* declared;
  const char* read;
  const char* write;
  Word mask;
};

Spelling spelling_of(char type) {
  switch (type) {
    case 'p': return {".pred", "and.b64 %z, %z, 1; setp.ne.u64 $, %z, 0;", "selp.u64 %z, 1, 0, $;", 1};
    case 'h':
    case 'x':
      return {".b16", "cvt.u16.u64 $, %z;", "cvt.u64.u16 %z, $;", type == 'x' ? Word{0xbbff} : Word{0xffff}};
    case 'd': return {".b64", "mov.b64 $, %z;", "mov.b64 %z, $;", ~Word{0}};
    case 'g': return {".f64", "mov.b64 $, %z;", "mov.b64 %z, $;", 0xbfffffffffffffff};
    case 'f':
      return {".f32", "cvt.u32.u64 %w, %z; mov.b32 $, %w;", "mov.b32 %w, $; cvt.u64.u32 %z, %w;", 0xbfffffff};
    default:
      return {".b32", "cvt.u32.u64 $, %z;", "cvt.u64.u32 %z, $;",
              type == 'y' ? Word{0xbbffbbff} : Word{0xffffffff}};
  }
}

std::string with_name(std::string text, const std::string& name) {
  for (std::size_t at = text.find('$'); at != std::string::npos; at = text.find('$'))
    text.replace(at, 1, name);
  return text;
}

std::string kernel_text(const Kernel& kernel, std::size_t number) {
  std::string declarations = ".reg .b64 %in, %out, %z;\n.reg .b32 %w, %t;\n.reg .pred %guard;\n";
  std::string loads;
  if (kernel.is_guarded) {
    loads = "ld.global.u64 %z, [%in+" + std::to_string(8 * (words_of_thread - 1)) + "]; " +
            with_name(spelling_of('p').read, "%guard") + "\n";
  }
  std::string steps;
  std::string stores;
  std::size_t word_in = 0;
  std::size_t word_out = 0;
  for (std::size_t s = 0; s < kernel.steps.size(); ++s) {
    const Operation& operation = *kernel.steps[s];
    const std::string types = operation.destinations + operation.sources;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < types.size(); ++i) {
      names.push_back("%r" + std::to_string(s) + "_" + std::to_string(i));
      const Spelling spelling = spelling_of(types[i]);
      declarations += ".reg " + std::string(spelling.declared) + " " + names[i] + ";\n";
      if (i < operation.destinations.size()) {
        stores += with_name(spelling.write, names[i]) + " st.global.u64 [%out+" +
                  std::to_string(8 * word_out++) + "], %z;\n";
      }
      if (i >= operation.destinations.size() || kernel.is_guarded) {
        loads += "ld.global.u64 %z, [%in+" + std::to_string(8 * word_in++) + "]; ";
        if (spelling.mask != ~Word{0} && types[i] != 'p')
          loads += "and.b64 %z, %z, " + std::to_string(spelling.mask) + "; ";
        loads += with_name(spelling.read, names[i]) + "\n";
      }
    }
    if (kernel.immediate && s + 1 == kernel.steps.size()) names.back() = std::to_string(*kernel.immediate);
    if (kernel.is_guarded) steps += "@%guard ";
    for (std::size_t i = 0; i < operation.text.size(); ++i) {
      const char c = operation.text[i];
      if (c == '$')
        steps += names[static_cast<std::size_t>(operation.text[++i] - '0')];
      else
        steps += c;
    }
    steps += "\n";
  }
  return ".visible .entry k" + std::to_string(number) + "(.param .u64 in, .param .u64 out) {\n" +
         declarations + "ld.param.u64 %in, [in];\nld.param.u64 %out, [out];\nmov.u32 %t, %tid.x;\n" +
         "mad.wide.u32 %in, %t, 64, %in;\nmad.wide.u32 %out, %t, 64, %out;\n" + loads + steps + stores +
         "ret;\n}\n";
}

std::vector<Word> expected_of(const Kernel& kernel, std::span<const Word> input) {
  bool carry = false;
  std::size_t next = 0;
  std::vector<Word> results;
  for (std::size_t s = 0; s < kernel.steps.size(); ++s) {
    const Operation& operation = *kernel.steps[s];
    Word in[8] = {};
    Word out[8] = {};
    std::vector<Word> old;
    if (kernel.is_guarded) {
      for (const char type : operation.destinations) old.push_back(input[next++] & spelling_of(type).mask);
    }
    for (std::size_t i = 0; i < operation.sources.size(); ++i)
      in[i] = input[next++] & spelling_of(operation.sources[i]).mask;
    if (kernel.is_guarded && input.back() % 2 == 0) return old;
    if (kernel.immediate && s + 1 == kernel.steps.size())
      in[operation.sources.size() - 1] = *kernel.immediate;
    operation.apply(in, out, carry);
    for (std::size_t i = 0; i < operation.destinations.size(); ++i) {
      const char type = operation.destinations[i];
      results.push_back(out[i] & (type == 'f' || type == 'g' || type == 'x' || type == 'y'
                                      ? type == 'g'   ? ~Word{0}
                                        : type == 'x' ? Word{0xffff}
                                                      : Word{0xffffffff}
                                      : spelling_of(type).mask));
    }
  }
  return results;
}

std::vector<Operation> all_operations() {
  using namespace lynxpp::random_ptx;
  std::vector<Operation> all;
  for (auto part : {integer_operations(), bit_operations(), float_operations(), predicate_operations(),
                    carry_operations()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

std::vector<Kernel> kernels_of(const std::vector<Operation>& operations) {
  static constexpr Word immediates[] = {0, 1, 2, 3, 7, 31, 100, 0x7fff, 4095};
  std::vector<Kernel> kernels;
  std::size_t turn = 0;
  for (const Operation& operation : operations) {
    if (!operation.reads_carry) kernels.push_back({{&operation}, {}});
    if (!operation.reads_carry && operation.takes_immediate)
      for (const Word immediate : immediates) kernels.push_back({{&operation}, immediate});
    if (!operation.reads_carry && operation.may_be_guarded()) kernels.push_back({{&operation}, {}, true});
    if (!operation.writes_carry) continue;
    for (const Operation& reader : operations)
      if (reader.reads_carry && !operation.reads_carry) {
        kernels.push_back({{&operation, &reader}, {}});
        if (turn++ % 3 == 0)
          kernels.push_back({{&operation, &reader}, immediates[turn % std::size(immediates)]});
      }
  }
  return kernels;
}

std::vector<Word> inputs() {
  static constexpr Word words[] = {0,
                                   1,
                                   2,
                                   31,
                                   32,
                                   63,
                                   64,
                                   0x7fff,
                                   0x8000,
                                   0xffff,
                                   0x7fffffff,
                                   0x80000000,
                                   0xffffffff,
                                   0x100000000,
                                   ~Word{0} >> 1,
                                   Word{1} << 63,
                                   ~Word{0},
                                   ~Word{1}};
  lynxpp::random_ptx::Random random(7);
  std::vector<Word> all(thread_count * words_of_thread);
  for (Word& each : all) {
    const Word any = Word{random.next()} << 32 | random.next();
    each = random.chance(2) ? words[random.below(std::size(words))] : any >> random.below(4) * 16;
  }
  return all;
}

}  // namespace

int main(int count, char** values) {
  const std::vector<Operation> operations = all_operations();
  const std::vector<Kernel> kernels = kernels_of(operations);
  const std::vector<Word> in = inputs();
  std::string text = ".version 8.8\n.target sm_90\n.address_size 64\n";
  for (std::size_t k = 0; k < kernels.size(); ++k) text += kernel_text(kernels[k], k);
  if (count > 1) std::ofstream(values[1]) << text;

  CUdevice device = 0;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  check(cuInit(0), "cuInit");
  check(cuDeviceGet(&device, 0), "cuDeviceGet");
  check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
  check(cuModuleLoadData(&module, text.c_str()), "cuModuleLoadData");
  CUdeviceptr memory[2] = {};
  for (CUdeviceptr& each : memory) check(cuMemAlloc(&each, in.size() * 8), "cuMemAlloc");
  check(cuMemcpyHtoD(memory[0], in.data(), in.size() * 8), "cuMemcpyHtoD");
  std::size_t wrong = 0;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    CUfunction function = nullptr;
    void* arguments[] = {&memory[0], &memory[1]};
    std::vector<Word> out(in.size());
    check(cuModuleGetFunction(&function, module, ("k" + std::to_string(k)).c_str()), "cuModuleGetFunction");
    check(cuLaunchKernel(function, 1, 1, 1, thread_count, 1, 1, 0, nullptr, arguments, nullptr),
          "cuLaunchKernel");
    check(cuMemcpyDtoH(out.data(), memory[1], out.size() * 8), "cuMemcpyDtoH");
    std::size_t bad = 0;
    for (std::size_t t = 0; t < thread_count; ++t) {
      const std::span<const Word> own(in.data() + t * words_of_thread, words_of_thread);
      const std::vector<Word> expected = expected_of(kernels[k], own);
      const std::span<const Word> found(out.data() + t * words_of_thread, expected.size());
      if (std::ranges::equal(found, expected) || bad++ != 0) continue;
      if (kernels[k].is_guarded) std::printf("guarded ");
      for (const Operation* const step : kernels[k].steps) std::printf("%s  ", step->text.c_str());
      if (kernels[k].immediate)
        std::printf("last source %llu ", static_cast<unsigned long long>(*kernels[k].immediate));
      std::printf("\n  thread %zu of", t);
      for (const Word each : own) std::printf(" %llx", static_cast<unsigned long long>(each));
      std::printf("\n  gives");
      for (const Word each : found) std::printf(" %llx", static_cast<unsigned long long>(each));
      std::printf(", expected");
      for (const Word each : expected) std::printf(" %llx", static_cast<unsigned long long>(each));
      std::printf("\n");
    }
    if (bad != 0) {
      std::printf("  %zu of %zu threads differ\n", bad, thread_count);
      ++wrong;
    }
  }
  std::printf("%zu of %zu kernels compute what the host computes\n", kernels.size() - wrong, kernels.size());
  return wrong == 0 ? 0 : 1;
}
