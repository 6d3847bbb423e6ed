// `lynxpp ptx cfg`: prints the control flow of kernels and device functions as text or for Graphviz.
#include <cstdio>
#include <string>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/ptx/arguments.h"
#include "cli/ptx/ptx_input.h"
#include "ptx/analysis/analyses.h"

namespace lynxpp::cli {
namespace {

using ptx::FunctionAnalyses;

/// Escapes text for a quoted string of the DOT language; lines are left-aligned.
std::string dot_text(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (c == '\n') {
      result += "\\l";
    } else {
      result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return result;
}

/// Joins an instruction's text into one line.
std::string one_line(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (!blank) {
      result += c;
    } else if (!result.empty() && result.back() != ' ') {
      result += ' ';
    }
  }
  return result;
}

std::string name_of_block(const ptx::ControlFlowGraph& graph, std::uint32_t block) {
  for (const auto& [label, target] : graph.labels) {
    if (target == block) return "block " + std::to_string(block) + " " + std::string(label);
  }
  return "block " + std::to_string(block);
}

void print_dot(const ptx::Module& module, FunctionAnalyses& analyses) {
  constexpr std::uint32_t shown = 12;  // longer blocks are cut
  const ptx::ControlFlowGraph& graph = analyses.graph();
  const ptx::Body& body = *analyses.function().body;
  std::printf("digraph \"%s\" {\n  label=\"%s\";\n  labelloc=t;\n  node [shape=box, fontname=monospace];\n",
              dot_text(analyses.function().name).c_str(),
              dot_text(readable_name(analyses.function())).c_str());
  for (std::uint32_t block = 0; block < graph.blocks.size(); ++block) {
    const ptx::BasicBlock& node = graph.blocks[block];
    std::string text = name_of_block(graph, block);
    if (const std::uint32_t depth = analyses.loops().depth_of(block); depth > 0)
      text += ", loop depth " + std::to_string(depth);
    text += "\n";
    for (std::uint32_t at = node.begin; at < node.end; ++at) {
      if (node.size() > shown && at == node.begin + shown - 2) {
        text += "... " + std::to_string(node.size() - shown + 1) + " more\n";
        at = node.end - 1;
      }
      text += one_line(module.text(body.instructions[at].text)) + "\n";
    }
    const bool divergent = (analyses.uniformity().of_branch(block) & ptx::varies_in_warp) != 0;
    const char* style = !analyses.dominators().is_reachable(block) ? ", style=dashed"
                        : divergent                                ? ", color=red"
                                                                   : "";
    std::printf("  b%u [label=\"%s\"%s];\n", block, dot_text(text).c_str(), style);
  }
  for (std::uint32_t block = 0; block < graph.blocks.size(); ++block) {
    const ptx::BasicBlock& node = graph.blocks[block];
    for (const std::uint32_t successor : node.successors) {
      const bool back = analyses.dominators().dominates(successor, block);
      const bool falls = successor == node.fall_through;
      std::printf("  b%u -> b%u%s;\n", block, successor,
                  back    ? " [style=bold, constraint=false]"
                  : falls ? ""
                          : " [label=\"taken\"]");
    }
    if (node.leaves_function) std::printf("  b%u -> exit;\n", block);
  }
  std::printf("  exit [shape=ellipse];\n}\n");
}

void print_blocks(FunctionAnalyses& analyses) {
  const ptx::ControlFlowGraph& graph = analyses.graph();
  std::printf("%s\n", readable_name(analyses.function()).c_str());
  for (std::uint32_t block = 0; block < graph.blocks.size(); ++block) {
    const ptx::BasicBlock& node = graph.blocks[block];
    std::string successors;
    for (const std::uint32_t successor : node.successors)
      successors += (successors.empty() ? "" : ", ") + std::to_string(successor);
    if (node.leaves_function) successors += std::string(successors.empty() ? "" : ", ") + "exit";
    const std::uint32_t dominator = analyses.dominators().immediate(block);
    const std::uint32_t post_dominator = analyses.post_dominators()[block];
    const auto number = [](std::uint32_t id) {
      return id == ptx::no_block ? std::string("-") : std::to_string(id);
    };
    std::printf("  %s (line %u, %s) -> %s; dominator %s, post-dominator %s, loop depth %u%s%s\n",
                name_of_block(graph, block).c_str(), node.line, counted(node.size(), "instruction").c_str(),
                successors.c_str(), number(dominator).c_str(), number(post_dominator).c_str(),
                analyses.loops().depth_of(block),
                (analyses.uniformity().of_branch(block) & ptx::varies_in_warp) != 0 ? ", may diverge" : "",
                analyses.dominators().is_reachable(block) ? "" : ", unreachable");
  }
}

}  // namespace

int ptx_cfg(const PtxArguments& arguments) {
  PtxInput input;
  if (!read_ptx_input(arguments.input, arguments.kernel, Wanted::kernels_and_functions, input))
    return exit_input_error;
  int exit_code = exit_success;
  for (const std::string& name : input.functions) {
    ptx::Function& function = *input.module.find_function(name);
    if (!parse_body_of(input, function)) {
      exit_code = exit_input_error;
      continue;
    }
    FunctionAnalyses analyses(function);
    arguments.dot ? print_dot(input.module, analyses) : print_blocks(analyses);
  }
  return exit_code;
}

}  // namespace lynxpp::cli
