#include "engine/handler_sites.h"

#include <algorithm>
#include <set>

#include "engine/reach.h"
#include "ptx/passes/facts.h"
#include "ptx/passes/probes/loop_edges.h"

namespace lynxpp::engine {
namespace {

constexpr std::size_t shown_names = 6;

std::string joined(const std::set<std::string>& names) {
  std::string text;
  std::size_t count = 0;
  for (const std::string& name : names) {
    if (count++ == shown_names) return text + ", …";
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

std::string joined(const std::vector<std::string_view>& names) {
  return joined(std::set<std::string>(names.begin(), names.end()));
}

/// Replaces line breaks and runs of spaces by one space.
std::string on_one_line(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const bool is_space = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (!is_space) {
      result += c;
    } else if (!result.empty() && result.back() != ' ') {
      result += ' ';
    }
  }
  return result;
}

class SiteFinder {
 public:
  SiteFinder(const ptx::Module& module, const ptx::ReachedFunctions& reached, const cod::Handler& handler)
      : module_(module), reached_(reached), handler_(handler) {}

  HandlerSites find() {
    for (const ptx::FunctionUnit& function : reached_.instrumented()) visit(function);
    if (result_.sites.empty()) result_.hint = hint();
    return std::move(result_);
  }

 private:
  void visit(const ptx::FunctionUnit& function) {
    const bool is_at_kernel_entry =
        handler_.target == cod::TargetKind::kernel_entry && function.function->is_entry;
    if (is_at_kernel_entry || handler_.target == cod::TargetKind::function_entry)
      add(function, 0, first_of(function, 0));
    for (std::uint32_t block = 0; block < function.graph().blocks.size(); ++block) {
      cod::is_at_loop(handler_.target) ? visit_loops(function, block) : visit_block(function, block);
    }
  }

  void visit_loops(const ptx::FunctionUnit& function, std::uint32_t block) {
    const ptx::LoopNest& loops = function.analyses->loops();
    const auto is_chosen_loop = [&](std::uint32_t loop) {
      return loop != ptx::no_loop &&
             ptx::is_chosen(loops.loops()[loop], function.graph(), function.function->body->instructions,
                            [this](const ptx::Instruction& each) {
                              return chooses(handler_.filter, module_, reached_.transfers, each);
                            });
    };
    const bool is_begun = is_chosen_loop(ptx::loop_begun_by(loops, block));
    if (handler_.target == cod::TargetKind::loop_iteration) {
      if (is_begun) add(function, block, first_of(function, block));
      return;
    }
    const bool is_entry = handler_.target == cod::TargetKind::loop_entry;
    if (is_entry && block == 0 && is_begun) add(function, block, first_of(function, block));
    for (const ptx::LoopEdge& edge : ptx::loop_edges(function.graph(), loops, block)) {
      const auto times = is_entry ? (is_chosen_loop(edge.entered) ? 1 : 0)
                                  : std::ranges::count_if(edge.left, is_chosen_loop);
      for (std::ptrdiff_t i = 0; i < times; ++i) add(function, block, last_of(function, block));
    }
  }

  void visit_block(const ptx::FunctionUnit& function, std::uint32_t block) {
    const ptx::BasicBlock& range = function.graph().blocks[block];
    const ptx::Instruction* last = last_of(function, block);
    const bool exits = last != nullptr && ptx::is_exit(*last);
    switch (handler_.target) {
      case cod::TargetKind::basic_block_entry: add(function, block, first_of(function, block)); break;
      case cod::TargetKind::basic_block_exit: add(function, block, last); break;
      case cod::TargetKind::kernel_exit:
        if (function.function->is_entry ? exits || function.falls_off_after(range)
                                        : exits && last->traits.is_thread_exit())
          add(function, block, last);
        break;
      case cod::TargetKind::function_exit:
        if (exits || range.leaves_function) add(function, block, last);
        break;
      case cod::TargetKind::instruction:
      case cod::TargetKind::instruction_after:
        for (std::uint32_t i = range.begin; i < range.end; ++i) {
          const ptx::Instruction& instruction = function.function->body->instructions[i];
          if (is_chosen(instruction)) add(function, block, &instruction);
        }
        break;
      default: break;  // not at blocks
    }
  }

  bool is_chosen(const ptx::Instruction& instruction) const {
    const bool stays = instruction.traits.kind != ptx::OpcodeClass::branch &&
                       instruction.traits.kind != ptx::OpcodeClass::exit;
    return (stays || handler_.target == cod::TargetKind::instruction) &&
           chooses(handler_.filter, module_, reached_.transfers, instruction);
  }

  static const ptx::Instruction* first_of(const ptx::FunctionUnit& function, std::uint32_t block) {
    const ptx::BasicBlock& range = function.graph().blocks[block];
    return range.size() == 0 ? nullptr : &function.function->body->instructions[range.begin];
  }
  static const ptx::Instruction* last_of(const ptx::FunctionUnit& function, std::uint32_t block) {
    const ptx::BasicBlock& range = function.graph().blocks[block];
    return range.size() == 0 ? nullptr : &function.function->body->instructions[range.end - 1];
  }

  void add(const ptx::FunctionUnit& function, std::uint32_t block, const ptx::Instruction* instruction) {
    HandlerSite& site = result_.sites.emplace_back();
    site.function = function.function->name;
    site.block = function.first_block + block;
    site.line = instruction != nullptr ? instruction->line : function.function->line;
    if (instruction == nullptr) return;
    site.instruction = on_one_line(module_.text(instruction->text));
    const std::string* file = module_.find_file(instruction->source_file);
    if (file == nullptr) return;
    site.file = *file;
    site.source_line = instruction->source_line;
  }

  template <typename Visit>
  void for_each_instruction(Visit visit) const {
    for (const ptx::FunctionUnit& function : reached_.instrumented()) {
      for (const ptx::Instruction& instruction : function.function->body->instructions) visit(instruction);
    }
  }

  // ---- why nothing matches

  std::string hint() const {
    if (cod::is_at_loop(handler_.target)) {
      const bool has_loops = std::ranges::any_of(reached_.instrumented(), [](const ptx::FunctionUnit& each) {
        return !each.analyses->loops().loops().empty();
      });
      if (!has_loops) return "the kernel has no loops";
      const std::string text = hint_of_sources(handler_.filter);
      return text.empty() ? "no loop begins or repeats in these lines" : text;
    }
    if (!cod::is_instruction(handler_.target)) return "the kernel never exits";
    const cod::InstructionFilter& filter = handler_.filter;
    if (std::string text = hint_of_labels(filter); !text.empty()) return text;
    if (std::string text = hint_of_opcodes(filter); !text.empty()) return text;
    if (std::string text = hint_of_calls(filter); !text.empty()) return text;
    if (std::string text = hint_of_sources(filter); !text.empty()) return text;
    return "no instruction matches all of the handler's filters";
  }

  std::string hint_of_labels(const cod::InstructionFilter& filter) const {
    bool has_any = false;
    std::set<std::string> spaces;
    cod::InstructionFilter without_space = filter;
    without_space.spaces = 0;
    for_each_instruction([&](const ptx::Instruction& instruction) {
      const cod::LabelSets labels = labels_of(reached_.transfers, instruction);
      has_any |= filter.choose(labels).has_value();
      if (!without_space.choose(labels)) return;
      for (const std::string_view name : cod::names_of({0, cod::united(labels).spaces, 0, 0}))
        spaces.emplace(name);
    });
    if (has_any) return {};
    const std::string wanted = joined(cod::names_of({filter.classes, 0, filter.data, filter.transfers}));
    if (filter.spaces == 0 || spaces.empty())
      return "no instruction is " +
             joined(cod::names_of({filter.classes, filter.spaces, filter.data, filter.transfers}));
    std::string text = (wanted.empty() ? "accesses" : wanted) + " in this kernel: " + joined(spaces);
    if (spaces.contains("GENERIC"))
      text += "; add GENERIC, and query accessSpace() for the space of its pointers";
    return text;
  }

  std::string hint_of_opcodes(const cod::InstructionFilter& filter) const {
    if (filter.opcodes.empty()) return {};
    bool has_any = false;
    std::set<std::string> opcodes;
    for_each_instruction([&](const ptx::Instruction& instruction) {
      has_any |= filter.matches_opcode(instruction.opcode);
      const std::string_view root = instruction.opcode.substr(0, instruction.opcode.find('.'));
      const bool is_close =
          std::any_of(filter.opcodes.begin(), filter.opcodes.end(),
                      [&](const std::string& pattern) { return pattern.starts_with(root); });
      if (is_close) opcodes.emplace(instruction.opcode);
    });
    if (has_any) return {};
    const std::string close = joined(opcodes);
    return "no opcode matches the pattern" + (close.empty() ? std::string() : "; the kernel has " + close);
  }

  std::string hint_of_calls(const cod::InstructionFilter& filter) const {
    if (filter.call_targets.empty()) return {};
    bool has_any = false;
    std::set<std::string> called;
    for_each_instruction([&](const ptx::Instruction& instruction) {
      if (instruction.traits.kind != ptx::OpcodeClass::call) return;
      const std::string callee(ptx::direct_callee(module_, instruction));
      has_any |= filter.matches_callee(callee.empty() ? nullptr : &callee);
      called.insert(callee.empty() ? "functions through pointers" : callee);
    });
    if (has_any) return {};
    return called.empty() ? "the kernel calls nothing" : "the kernel calls " + joined(called);
  }

  std::string hint_of_sources(const cod::InstructionFilter& filter) const {
    if (filter.sources.empty()) return {};
    bool has_lines = false;
    bool has_any = false;
    std::set<std::string> files;
    for_each_instruction([&](const ptx::Instruction& instruction) {
      const std::string* file = module_.find_file(instruction.source_file);
      has_lines |= file != nullptr;
      has_any |= filter.matches_source(file, instruction.source_line);
      if (file != nullptr) files.insert(*file);
    });
    if (!has_lines) return "the PTX has no line information; compile with nvcc -lineinfo";
    return has_any ? std::string()
                   : "no instruction comes from these lines; the kernel's files are " + joined(files);
  }

  const ptx::Module& module_;
  const ptx::ReachedFunctions& reached_;
  const cod::Handler& handler_;
  HandlerSites result_;
};

}  // namespace

ptx::Transfers find_transfers(const ptx::Module& module, const ptx::ReachedFunctions& reached) {
  std::vector<ptx::FunctionAnalyses*> analyses;
  for (const ptx::FunctionUnit& function : reached.functions) analyses.push_back(function.analyses.get());
  return ptx::find_transfers(module, analyses);
}

cod::LabelSets labels_of(const ptx::Transfers& transfers, const ptx::Instruction& instruction) {
  const auto bits = [&](std::uint32_t side) {
    const ptx::TransferSet set = transfers.of(instruction, side);
    std::uint32_t label_bits = 0;
    if ((set & ptx::transfer_into_shared) != 0) label_bits |= cod::transfer_in;
    if ((set & ptx::transfer_into_device) != 0) label_bits |= cod::transfer_out;
    return label_bits;
  };
  cod::LabelSets labels = cod::labels_of(instruction);
  labels.first.transfers = bits(0);
  if (labels.second) labels.second->transfers = bits(1);
  return labels;
}

bool chooses(const cod::InstructionFilter& filter, const ptx::Module& module, const ptx::Transfers& transfers,
             const ptx::Instruction& instruction) {
  if (!filter.choose(labels_of(transfers, instruction)) || !filter.matches_opcode(instruction.opcode))
    return false;
  const bool is_result =
      filter.results.empty() || std::ranges::count(filter.results, instruction.traits.result_type()) != 0;
  if (!is_result) return false;
  if (!filter.call_targets.empty()) {
    const bool is_call = instruction.traits.kind == ptx::OpcodeClass::call;
    const std::string callee(is_call ? ptx::direct_callee(module, instruction) : std::string_view());
    if (!filter.matches_callee(callee.empty() ? nullptr : &callee)) return false;
  }
  return filter.matches_source(module.find_file(instruction.source_file), instruction.source_line);
}

Result<std::vector<HandlerSites>> find_handler_sites(ptx::Module& module, const std::string& kernel,
                                                     const cod::Specification& specification) {
  Result<ptx::ReachedFunctions> reached = find_reachable(module, kernel);
  if (!reached) return reached.error();
  if (specification.uses_transfer_labels()) reached->transfers = find_transfers(module, *reached);
  std::vector<HandlerSites> result;
  for (std::uint32_t i = 0; i < specification.handlers().size(); ++i) {
    const cod::Handler& handler = specification.handlers()[i];
    HandlerSites& found = result.emplace_back();
    if (handler.wants_kernel(kernel)) {
      found = SiteFinder(module, *reached, handler).find();
    } else {
      found.hint = "its KERNEL filter does not match this kernel";
    }
    found.handler = i;
  }
  return result;
}

}  // namespace lynxpp::engine
