#include "ptx/parser/linking.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "ptx/parser/parser.h"

namespace lynxpp::ptx {
namespace {

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%';
}

/// Returns the text with each of the names replaced if it is a separate token.
std::string with_names(std::string_view text, const std::map<std::string, std::string, std::less<>>& names) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && is_name_character(text[end])) ++end;
    if (end == at) {
      result += text[at++];
      continue;
    }
    const std::string_view word = text.substr(at, end - at);
    const auto found = names.find(word);
    result += found != names.end() ? std::string_view(found->second) : word;
    at = end;
  }
  return result;
}

/// Removes line information: file numbers differ between modules.
std::string without_lines(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    const std::size_t first = line.find_first_not_of(" \t");
    const std::string_view words = line.substr(std::min(first, line.size()));
    if (!words.starts_with(".loc ") && !words.starts_with(".loc\t")) result += line;
    result += '\n';
    at = end + 1;
  }
  return result;
}

class Linker {
 public:
  Status read(std::span<const std::string> texts) {
    for (const std::string& text : texts) {
      Result<Module> module = parse_module(text);
      if (!module) return module.error();
      modules_.push_back(std::move(*module));
    }
    return rename_own();
  }

  Result<std::string> link() {
    if (const Status known = note_definitions(); !known) return known.error();
    const auto newest = std::ranges::max_element(modules_, {}, &Module::version);
    std::string linked = ".version " + std::string(newest->text(newest->version_text)) + "\n.target " +
                         std::string(newest->text(newest->target_text)) + "\n.address_size 64\n";
    linked += prototypes();
    // Initial values refer to functions and code to variables: declarations precede uses.
    for (const bool variables : {true, false}) {
      for (std::size_t i = 0; i < modules_.size(); ++i) {
        for (const Item& item : modules_[i].items) {
          if ((item.kind == ItemKind::variable) != variables || !is_wanted(i, item)) continue;
          const std::string_view text = modules_[i].text(item.text);
          linked += (i == 0 ? std::string(text) : without_lines(text)) + "\n";
        }
      }
    }
    return linked;
  }

 private:
  template <typename Declared>
  static bool is_own(const Declared& declared) {
    return !declared.is_visible && !declared.is_weak && !declared.is_extern;
  }
  static bool is_own(const Function& function) {
    return !function.is_visible && !function.is_weak && !function.is_extern && !function.is_declaration();
  }

  /// Declares each device function that a module defines, because another module that calls it may come
  /// first.
  std::string prototypes() const {
    std::string text;
    for (std::size_t i = 0; i < modules_.size(); ++i) {
      for (const Function& function : modules_[i].functions) {
        if (function.is_entry || function.is_declaration() || definitions_.at(function.name).module != i)
          continue;
        const std::string_view whole = modules_[i].text(function.text);
        text +=
            std::string(whole.substr(0, whole.size() - modules_[i].text(function.body_text).size())) + ";\n";
      }
    }
    return text;
  }

  /// Renames local names of a module that also occur in another module.
  Status rename_own() {
    std::map<std::string, unsigned, std::less<>> uses;  // number of modules that contain the name
    for (const Module& module : modules_) {
      std::set<std::string_view> names;
      for (const Variable& variable : module.variables) names.insert(variable.name);
      for (const Function& function : module.functions) names.insert(function.name);
      for (const std::string_view name : names) ++uses[std::string(name)];
    }
    for (std::size_t i = 0; i < modules_.size(); ++i) {
      std::map<std::string, std::string, std::less<>> names;
      const auto rename = [&](const auto& declared) {
        if (!is_own(declared) || uses[declared.name] < 2) return;
        // nvcc numbers string literals the same way: $str, $str$1, …
        std::string unused = declared.name + "$" + std::to_string(i);
        while (uses.contains(unused)) unused += "$";
        uses[unused] = 1;
        names[declared.name] = std::move(unused);
      };
      for (const Variable& variable : modules_[i].variables) rename(variable);
      for (const Function& function : modules_[i].functions) rename(function);
      if (names.empty()) continue;
      Result<Module> renamed = parse_module(with_names(modules_[i].source(), names));
      if (!renamed) return renamed.error();
      modules_[i] = std::move(*renamed);
    }
    return success();
  }

  /// Records definitions; the first weak definition is used only if there is no other.
  Status note_definitions() {
    const auto note = [&](std::size_t module, const auto& declared, bool defines) -> Status {
      if (!defines) return success();
      const auto [known, is_new] =
          definitions_.try_emplace(declared.name, Definition{module, declared.is_weak});
      if (is_new || declared.is_weak) return success();
      if (!known->second.is_weak)
        return failure("two modules of relocatable device code define '" + declared.name + "'");
      known->second = {module, false};
      return success();
    };
    for (std::size_t i = 0; i < modules_.size(); ++i) {
      for (const Variable& variable : modules_[i].variables) {
        if (Status noted = note(i, variable, !variable.is_extern); !noted) return noted;
      }
      for (const Function& function : modules_[i].functions) {
        if (Status noted = note(i, function, !function.is_declaration()); !noted) return noted;
      }
    }
    return success();
  }

  /// True for the definition among items of one name, or else the first declaration.
  bool is_wanted(std::size_t module, const Item& item) {
    const auto one = [&](const std::string& name, bool defines) {
      const auto found = definitions_.find(name);
      if (found != definitions_.end()) return defines && found->second.module == module;
      return declared_.insert(name).second;
    };
    if (item.kind == ItemKind::variable) {
      const Variable& variable = modules_[module].variables[item.index];
      return one(variable.name, !variable.is_extern);
    }
    if (item.kind == ItemKind::function) {
      const Function& function = modules_[module].functions[item.index];
      return one(function.name, !function.is_declaration());
    }
    if (item.name == ".alias") return true;
    return module == 0 && item.name == ".file";
  }

  struct Definition {
    std::size_t module = 0;
    bool is_weak = false;
  };
  std::vector<Module> modules_;
  std::map<std::string, Definition, std::less<>> definitions_;
  std::set<std::string, std::less<>> declared_;
};

}  // namespace

Result<std::string> link_modules(std::span<const std::string> texts) {
  Linker linker;
  if (const Status done = linker.read(texts); !done) return done.error();
  return linker.link();
}

}  // namespace lynxpp::ptx
