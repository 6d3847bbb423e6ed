#include "cod/syntax/parser.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "antlr4-runtime.h"
#include "cod/syntax/syntax_errors.h"
#include "cod/syntax/tree_builder.h"
#include "cod/syntax/type_reader.h"
#include "support/text.h"

namespace lynxpp::cod {
namespace {

using grammar::CodParser;

constexpr std::uintmax_t maximum_bytes = std::uintmax_t{1} << 20;
constexpr std::size_t maximum_files = 64;

class DepthLimit final : public antlr4::tree::ParseTreeListener {
 public:
  DepthLimit(antlr4::Parser& parser, const SyntaxErrors& errors) : parser_(parser), errors_(errors) {}
  void visitTerminal(antlr4::tree::TerminalNode*) override {}
  void visitErrorNode(antlr4::tree::ErrorNode*) override {}
  void enterEveryRule(antlr4::ParserRuleContext*) override {
    if (++depth_ > maximum_rule_depth) throw TooDeep{errors_.position_of(parser_.getCurrentToken())};
  }
  void exitEveryRule(antlr4::ParserRuleContext*) override { --depth_; }

 private:
  antlr4::Parser& parser_;
  const SyntaxErrors& errors_;
  int depth_ = 0;
};

/// Replaces each non-ASCII byte by one character: ANTLR expects UTF-8 and counts code points, so this keeps
/// columns correct and accepts any input.
std::string printable(const std::string& source) {
  std::string text = source;
  for (char& c : text) {
    if (static_cast<unsigned char>(c) >= 0x80 || c == '\0') c = '\x01';
  }
  return text;
}

/// Reads the specification and the files that it includes, each once.
class FileReader {
 public:
  FileReader(SyntaxTree& tree, SyntaxErrors& errors) : tree_(tree), errors_(errors) {}

  std::unique_ptr<ParsedFile> read(std::string path, std::string text) {
    auto file = std::make_unique<ParsedFile>();
    file->index = static_cast<std::uint32_t>(tree_.files.size());
    const std::string identity = identity_of(path);
    tree_.files.push_back({std::move(path), std::move(text)});
    seen_.insert(identity);
    open_.push_back(identity);
    const std::uint32_t outer = errors_.file();
    errors_.set_file(file->index);
    parse(*file);
    errors_.set_file(outer);
    open_.pop_back();
    return file;
  }

 private:
  static std::string identity_of(const std::string& path) {
    std::error_code unknown;
    const auto canonical = std::filesystem::weakly_canonical(path, unknown);
    return unknown ? path : canonical.string();
  }

  void parse(ParsedFile& file) {
    file.input = std::make_unique<antlr4::ANTLRInputStream>(printable(tree_.files[file.index].text));
    file.lexer = std::make_unique<grammar::CodLexer>(file.input.get());
    file.lexer->removeErrorListeners();
    file.lexer->addErrorListener(&errors_);
    file.tokens = std::make_unique<antlr4::CommonTokenStream>(file.lexer.get());
    mark_typedef_names(*file.tokens, errors_.typedef_names,
                       [&](antlr4::Token* name) { include(file, name); });
    file.parser = std::make_unique<CodParser>(file.tokens.get());
    file.parser->removeErrorListeners();
    file.parser->addErrorListener(&errors_);
    DepthLimit limit(*file.parser, errors_);
    file.parser->addParseListener(&limit);
    file.context = file.parser->specification();
    file.parser->removeParseListener(&limit);
    for (antlr4::Token* token : file.tokens->getTokens()) {
      if (token->getType() == CodParser::Identifier) tree_.names.insert(token->getText());
    }
  }

  void include(ParsedFile& file, antlr4::Token* name) {
    const std::string here = tree_.files[file.index].path;
    const std::string token = tree_.files[file.index].text.substr(
        name->getStartIndex(), name->getStopIndex() - name->getStartIndex() + 1);
    const std::filesystem::path written(token.substr(1, token.size() - 2));
    const std::string path =
        (std::filesystem::path(here).parent_path() / written).lexically_normal().string();
    const std::string identity = identity_of(path);
    if (const auto start = std::find(open_.begin(), open_.end(), identity); start != open_.end()) {
      errors_.add(name,
                  "this includes the file itself" + way(static_cast<std::size_t>(start - open_.begin())),
                  "move the shared declarations into a third file");
      return;
    }
    if (seen_.contains(identity)) return;
    if (tree_.files.size() >= maximum_files) {
      errors_.add(name, "the specification includes too many files",
                  std::to_string(maximum_files) + " files is the limit");
      return;
    }
    Result<std::string> text = read_regular_file(path, maximum_bytes);
    if (!text) {
      errors_.add(name, "'" + path + "' cannot be read",
                  "paths are relative to the including file; a file may have at most 1 MiB");
      return;
    }
    file.included[name] = read(path, std::move(*text));
  }

  /// ", through 'b.cod'": the files between.
  std::string way(std::size_t start) const {
    std::string text;
    for (std::size_t i = start + 1; i < open_.size(); ++i) {
      text +=
          (text.empty() ? ", through '" : ", '") + std::filesystem::path(open_[i]).filename().string() + "'";
    }
    return text;
  }

  SyntaxTree& tree_;
  SyntaxErrors& errors_;
  std::set<std::string> seen_;
  std::vector<std::string> open_;  ///< currently being read, the specification first
};

}  // namespace

Result<SyntaxTree> parse(const std::string& source, const std::string& file) {
  if (source.size() > maximum_bytes)
    return failure_at({file, 0, 0, 1}, "the specification is larger than 1 MiB", "is this a .cod file?");
  SyntaxTree tree;
  SyntaxErrors errors(tree.files);
  try {
    FileReader reader(tree, errors);
    const std::unique_ptr<ParsedFile> main = reader.read(file, source);
    if (errors.diagnostics.empty()) add_to_tree(*main, tree, errors);
    tree.types = errors.typedef_names;
    if (errors.diagnostics.empty()) return tree;
  } catch (const TooDeep& reached) {
    errors.add(reached.position, "the code is nested too deeply here",
               "split it into statements or helper functions");
  } catch (const std::exception& error) {
    errors.diagnostics.push_back({Severity::error, {file, 0, 0, 1}, error.what(), ""});
  }
  quote_included_lines(tree.files, errors.diagnostics);
  return Failure{std::move(errors.diagnostics)};
}

}  // namespace lynxpp::cod
