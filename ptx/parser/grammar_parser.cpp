#include "ptx/parser/grammar_parser.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "PtxLexer.h"
#include "PtxParser.h"
#include "antlr4-runtime.h"
#include "ptx/parser/tree_converter.h"

namespace lynxpp::ptx {
namespace {

using grammar::PtxLexer;
using grammar::PtxParser;

/// The bytes of source[begin, end), without copying; indices are those of the whole source.
class ByteStream final : public antlr4::CharStream {
 public:
  ByteStream(std::string_view source, std::size_t begin, std::size_t end)
      : source_(source), begin_(begin), end_(end), position_(begin) {}

  void consume() override { ++position_; }
  std::size_t LA(ssize_t offset) override {
    if (offset == 0) return 0;
    const auto index =
        static_cast<std::size_t>(static_cast<ssize_t>(position_) + (offset > 0 ? offset - 1 : offset));
    if (index < begin_ || index >= end_) return antlr4::IntStream::EOF;
    return static_cast<unsigned char>(source_[index]);
  }
  ssize_t mark() override { return -1; }
  void release(ssize_t) override {}
  std::size_t index() override { return position_; }
  void seek(std::size_t index) override { position_ = std::min(index, end_); }
  std::size_t size() override { return end_; }
  std::string getSourceName() const override { return "ptx"; }
  std::string getText(const antlr4::misc::Interval& interval) override {
    const auto first = static_cast<std::size_t>(std::max<ssize_t>(interval.a, 0));
    if (first >= end_ || interval.b < interval.a) return {};
    return std::string(
        source_.substr(first, std::min(static_cast<std::size_t>(interval.b) + 1, end_) - first));
  }
  std::string toString() const override { return std::string(source_.substr(begin_, end_ - begin_)); }

 private:
  std::string_view source_;
  std::size_t begin_;
  std::size_t end_;
  std::size_t position_;
};

/// "a name", "';'": a token type in a message.
std::string describe_token_type(std::size_t type, const antlr4::dfa::Vocabulary& vocabulary) {
  switch (type) {
    case PtxParser::WORD: return "a name";
    case PtxParser::INTEGER: return "an integer";
    case PtxParser::FLOAT: return "a floating-point number";
    case PtxParser::STRING: return "a string";
    case PtxParser::DIRECTIVE: return "a type or directive";
    default: return vocabulary.getDisplayName(type);
  }
}

/// Stops at the first error instead of recovering; records its position and the expected tokens.
class StrictErrors final : public antlr4::DefaultErrorStrategy {
 public:
  void reportError(antlr4::Parser* parser, const antlr4::RecognitionException& exception) override {
    place_ = exception.getOffendingToken();
    expected_.clear();
    // A failed prediction does not know the expected tokens.
    if (dynamic_cast<const antlr4::InputMismatchException*>(&exception) == nullptr) return;
    for (const ssize_t type : getExpectedTokens(parser).toList()) {
      if (type > 0) expected_.push_back(static_cast<std::size_t>(type));
    }
  }
  void recover(antlr4::Parser*, std::exception_ptr) override { throw antlr4::ParseCancellationException(); }
  antlr4::Token* recoverInline(antlr4::Parser* parser) override {
    reportError(parser, antlr4::InputMismatchException(parser));
    throw antlr4::ParseCancellationException();
  }
  void sync(antlr4::Parser*) override {}

  antlr4::Token* place() const { return place_; }

  std::string hint(const antlr4::dfa::Vocabulary& vocabulary) const {
    const auto expects = [&](std::string_view literal) {
      return std::ranges::any_of(
          expected_, [&](std::size_t type) { return vocabulary.getDisplayName(type) == literal; });
    };
    if (expects("';'")) return "is a ';' missing before it?";
    if (expected_.empty() || expected_.size() > 5) return {};
    std::string text = "expected ";
    for (std::size_t index = 0; index < expected_.size(); ++index) {
      if (index > 0) text += index + 1 == expected_.size() ? " or " : ", ";
      text += describe_token_type(expected_[index], vocabulary);
    }
    return text;
  }

 private:
  antlr4::Token* place_ = nullptr;
  std::vector<std::size_t> expected_;
};

}  // namespace

/// Lexer and parser of one body. Holds all mutable state; ANTLR's shared tables do their own locking.
class GrammarParser::Implementation {
 public:
  Implementation(const Module& module, const Function& function, const std::string& name,
                 BodyBuilder& builder)
      : module_(module),
        source_(module.source()),
        name_(name),
        builder_(builder),
        body_end_(function.body_text.end - 1),
        stream_(source_, function.body_text.begin + 1, function.body_text.end - 1),
        lexer_(&stream_),
        tokens_(&lexer_),
        parser_(&tokens_) {
    lexer_.removeErrorListeners();
    parser_.removeErrorListeners();
    auto errors = std::make_shared<StrictErrors>();
    errors_ = errors.get();
    parser_.setErrorHandler(std::move(errors));
  }

  std::uint32_t parse_statement(std::uint32_t position, std::uint32_t line) {
    seek(position, line);
    const std::size_t begin = tokens_.index();
    // SLL accepts every valid text; a text is an error only if LL rejects it too.
    if (!try_statement(antlr4::atn::PredictionMode::SLL)) {
      tokens_.seek(begin);
      if (!try_statement(antlr4::atn::PredictionMode::LL)) report_and_resume(begin);
    }
    parser_.getTreeTracker().reset();
    if (tokens_.index() == begin) return body_end_;  // at the end of input
    return static_cast<std::uint32_t>(tokens_.LT(-1)->getStopIndex() + 1);
  }

  const Diagnostics& diagnostics() const { return diagnostics_; }
  std::size_t syntax_errors() const { return syntax_errors_; }

 private:
  /// Makes the token at `position` the next one, which it already is if the previous statement was parsed
  /// here too.
  void seek(std::uint32_t position, std::uint32_t line) {
    if (is_started_ && tokens_.LT(1)->getStartIndex() == position) return;
    is_started_ = true;
    lexer_.reset();
    stream_.seek(position);
    lexer_.setLine(line);
    lexer_.setCharPositionInLine(position - line_begin(position));
    tokens_.setTokenSource(&lexer_);
    parser_.reset();
  }

  /// Returns the beginning of the line of `position`. A body may be one long line: searched text is not
  /// searched again.
  std::size_t line_begin(std::uint32_t position) {
    if (position < searched_) searched_ = line_begin_ = 0;
    const std::size_t newline = source_.substr(searched_, position - searched_).rfind('\n');
    if (newline != std::string_view::npos) line_begin_ = searched_ + newline + 1;
    searched_ = position;
    return line_begin_;
  }

  bool try_statement(antlr4::atn::PredictionMode mode) {
    parser_.getInterpreter<antlr4::atn::ParserATNSimulator>()->setPredictionMode(mode);
    parser_.setContext(nullptr);
    try {
      convert_statement(module_, name_, *parser_.statement(), builder_, diagnostics_);
      return true;
    } catch (const antlr4::ParseCancellationException&) {
      return false;
    }
  }

  void report_and_resume(std::size_t begin) {
    antlr4::Token* const token = errors_->place();
    SourceLocation location{name_, static_cast<std::uint32_t>(token->getLine()),
                            static_cast<std::uint32_t>(token->getCharPositionInLine()) + 1, 1};
    std::string message = "unexpected end of the function body";
    if (token->getType() != antlr4::Token::EOF) {
      const std::string_view text = word(token);
      location.length = static_cast<std::uint32_t>(text.size());
      message = "unexpected '" + std::string(text.substr(0, 60)) + "'";
    }
    diagnostics_.push_back(
        {Severity::error, std::move(location), std::move(message), errors_->hint(parser_.getVocabulary())});
    ++syntax_errors_;
    // The next statement begins after the next semicolon.
    if (tokens_.index() < begin) tokens_.seek(begin);
    while (tokens_.LA(1) != antlr4::Token::EOF) {
      const bool semicolon = word(tokens_.LT(1)) == ";";
      tokens_.consume();
      if (semicolon) return;
    }
  }

  std::string_view word(antlr4::Token* token) const {
    return source_.substr(token->getStartIndex(), token->getStopIndex() + 1 - token->getStartIndex());
  }

  const Module& module_;
  std::string_view source_;
  const std::string& name_;
  BodyBuilder& builder_;
  const std::uint32_t body_end_;
  ByteStream stream_;
  PtxLexer lexer_;
  antlr4::CommonTokenStream tokens_;
  PtxParser parser_;
  StrictErrors* errors_ = nullptr;  // owned by parser_
  bool is_started_ = false;
  std::size_t searched_ = 0;
  std::size_t line_begin_ = 0;  ///< of the line of source_[searched_]
  Diagnostics diagnostics_;
  std::size_t syntax_errors_ = 0;
};

GrammarParser::GrammarParser(const Module& module, const Function& function, const std::string& name,
                             BodyBuilder& builder)
    : implementation_(std::make_unique<Implementation>(module, function, name, builder)) {}
GrammarParser::~GrammarParser() = default;

std::uint32_t GrammarParser::parse_statement(std::uint32_t position, std::uint32_t line) {
  return implementation_->parse_statement(position, line);
}
const Diagnostics& GrammarParser::diagnostics() const { return implementation_->diagnostics(); }
std::size_t GrammarParser::syntax_errors() const { return implementation_->syntax_errors(); }

}  // namespace lynxpp::ptx
