#include "tests/passes/splice_fixture.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#include "engine/reach.h"
#include "engine/verify.h"
#include "ptx/parser/parser.h"
#include "ptx/passes/pipeline.h"
#include "support/text.h"
#include "tests/support/temporary_folder.h"

namespace lynxpp::ptx::testing {
namespace {

std::string routine_text(const std::string& name) {
  static const std::map<std::string, std::string> bodies{
      {"count",
       ".reg .b32 %r<2>;\n.reg .b64 %rd<4>;\n"
       "mov.b64 %rd1, __lynxpp_state_0;\n"
       "mov.b32 %r1, __lynxpp_site_basic_block_executed_instruction_count;\n"
       "cvt.u64.u32 %rd2, %r1;\nadd.s64 %rd3, %rd1, %rd2;\nmov.b64 __lynxpp_state_0, %rd3;\nret;\n"},
      {"flush",
       ".reg .b64 %rd<3>;\nmov.b64 %rd1, __lynxpp_word_0;\nmov.b64 %rd2, __lynxpp_state_0;\n"
       "red.global.add.u64 [%rd1], %rd2;\nret;\n"},
      {"start", ".reg .b64 %rd<2>;\nmov.u64 %rd1, %clock64;\nmov.b64 __lynxpp_state_0, %rd1;\nret;\n"},
      {"loads",
       ".reg .b64 %rd<4>;\nmov.b64 %rd1, __lynxpp_site_memory_address;\nmov.b64 %rd2, __lynxpp_state_0;\n"
       "add.s64 %rd3, %rd1, %rd2;\nmov.b64 __lynxpp_state_0, %rd3;\nret;\n"},
      {"branchy",
       ".reg .pred %p<3>;\n.reg .b32 %r<2>;\n.reg .b64 %rd<4>;\n"
       "mov.u32 %r1, %laneid;\nsetp.ne.s32 %p1, %r1, 0;\n@%p1 bra $L__BB0_2;\nmov.b64 %rd1, "
       "__lynxpp_word_1;\n"
       "mov.u64 %rd3, 1;\nred.global.add.u64 [%rd1], %rd3;\nret;\n$L__BB0_2:\nsetp.gt.s32 %p2, %r1, "
       "30;\n@!%p2 ret;\n"
       "mov.b64 %rd2, __lynxpp_state_0;\nadd.s64 %rd2, %rd2, 1;\nmov.b64 __lynxpp_state_0, %rd2;\nret;\n"},
  };
  return ".version 8.0\n.target sm_75\n.address_size 64\n.visible .func lynxpp_handler()\n{\n" +
         bodies.at(name) + "}\n";
}

Result<ProbeRoutine> routine_named(const std::string& name) {
  Result<Module> module = parse_module(routine_text(name), name);
  if (!module) return module.error();
  Function* function = module->find_function("lynxpp_handler");
  if (Status parsed = parse_body(*module, *function, name); !parsed) return parsed.error();
  RoutineFunctions functions;
  return ProbeRoutine::make(*module, *function, {"__lynxpp_word_", "__lynxpp_state_", "__lynxpp_site_"},
                            functions);
}

}  // namespace

Result<Spliced> splice(const std::string& ptx, const std::string& kernel,
                       const std::vector<NamedProbe>& probes, const SharedVariables& shared) {
  Result<Module> module = parse_module(ptx);
  if (!module) return module.error();
  InstrumentationUnit unit(*module);
  unit.variant.version = module->version;
  unit.variant.target = module->target;
  // as in the engine: debug data does not survive
  unit.variant.target.text = "sm_" + std::to_string(module->target.sm);
  unit.variant.shared_variables = shared;
  Result<ReachedFunctions> reached = engine::find_reachable(*module, kernel);
  if (!reached) return reached.error();
  unit.reached = std::move(*reached);
  unit.notes = unit.reached.notes;
  for (const NamedProbe& named : probes) {
    Result<ProbeRoutine> routine = routine_named(named.routine);
    if (!routine) return routine.error();
    Probe probe;
    probe.point = named.point;
    probe.matches = [](const Instruction& instruction) {
      return instruction.traits.reads_memory && instruction.traits.space == StateSpace::global;
    };
    probe.routine = std::move(*routine);
    unit.spliced.probes.push_back(std::move(probe));
  }
  for (std::uint32_t word : {0u, 1u}) unit.hidden.add({HiddenSlot::Kind::specification, 0, word});
  unit.spliced.state_bytes = {8};
  PassManager passes = make_pipeline();
  passes.verify_with(engine::verify);
  if (Status ran = passes.run(unit); !ran) return ran.error();
  Spliced result{emit(*module, unit.edits), unit.reached.basic_blocks, {}, unit.notes};
  for (const Probe& probe : unit.spliced.probes) result.sites.push_back(probe.sites);
  return result;
}

bool assemble(const std::string& ptx, std::string& messages, bool& available) {
  available = std::system("command -v ptxas >/dev/null 2>&1 || test -x /usr/local/cuda/bin/ptxas") == 0;
  if (!available) return false;
  const TemporaryFolder folder;
  const std::string path = folder.file("module.ptx");
  write_file(path, ptx);
  Result<Module> module = parse_module(ptx);
  const std::string architecture =
      module ? "sm_" + std::to_string(module->target.sm) +
                   (module->target.suffix != '\0' ? std::string(1, module->target.suffix) : "")
             : "sm_75";
  FILE* pipe =
      popen(("PATH=$PATH:/usr/local/cuda/bin ptxas -arch=" + architecture + " -o /dev/null " + path + " 2>&1")
                .c_str(),
            "r");
  std::array<char, 4096> chunk{};
  while (const std::size_t count = std::fread(chunk.data(), 1, chunk.size(), pipe))
    messages.append(chunk.data(), count);
  const int status = pclose(pipe);
  return status == 0;
}

}  // namespace lynxpp::ptx::testing
