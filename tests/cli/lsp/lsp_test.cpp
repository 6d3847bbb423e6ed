// `lynxpp lsp` in sessions as editors have them, and with messages that no editor should send.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "cli/lsp/messages.h"
#include "cli/lsp/text.h"
#include "instrumentors/catalogue.h"
#include "support/text.h"
#include "tests/cli/process.h"

namespace lynxpp::cli {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

constexpr const char* uri = "file:///tmp/my%20spec.cod";

std::string framed(const std::string& text) { return lsp::with_header(text); }
std::string request(int id, const std::string& method, Json parameters = Json::object()) {
  return framed(
      Json{{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", std::move(parameters)}}.dump());
}
std::string notice(const std::string& method, Json parameters = Json::object()) {
  return framed(Json{{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(parameters)}}.dump());
}
std::string opened(const std::string& text, const std::string& name = uri) {
  return notice("textDocument/didOpen",
                {{"textDocument", {{"uri", name}, {"languageId", "cod"}, {"version", 1}, {"text", text}}}});
}
std::string changed(const std::string& text, int version) {
  return notice("textDocument/didChange", {{"textDocument", {{"uri", uri}, {"version", version}}},
                                           {"contentChanges", {{{"text", text}}}}});
}
Json at(int line, int character) {
  return {{"textDocument", {{"uri", uri}}}, {"position", {{"line", line}, {"character", character}}}};
}
const std::string begin =
    request(1, "initialize", {{"capabilities", Json::object()}}) + notice("initialized");
const std::string end = request(99, "shutdown") + notice("exit");

struct Session {
  int exit_code = -1;
  std::string err;
  std::vector<Json> messages;

  /// Returns the answer to the request; null if it is missing.
  Json answer(int id) const {
    for (const Json& each : messages) {
      if (each.contains("id") && each["id"] == id) return each;
    }
    return nullptr;
  }
  /// Returns the diagnostics of each publication.
  std::vector<Json> diagnostics() const {
    std::vector<Json> found;
    for (const Json& each : messages) {
      if (each.value("method", "") == "textDocument/publishDiagnostics")
        found.push_back(each["params"]["diagnostics"]);
    }
    return found;
  }
};

Session session(const std::string& input) {
  const TemporaryFolder folder;
  const std::string file = folder.write("input", input);
  const Outcome outcome =
      start({"/bin/sh", "-c", std::string("exec '") + LYNXPP_COMMAND + "' lsp --stdio < '" + file + "'"});
  Session found{outcome.exit_code, outcome.err, {}};
  std::istringstream out(outcome.out);
  for (lsp::Incoming each = lsp::read_message(out); each.kind != lsp::Incoming::Kind::end;
       each = lsp::read_message(out)) {
    EXPECT_EQ(each.kind, lsp::Incoming::Kind::message) << each.text;
    if (each.kind != lsp::Incoming::Kind::message) break;
    found.messages.push_back(Json::parse(each.text));
  }
  return found;
}

std::vector<std::string> labels_of(const Json& answer) {
  std::vector<std::string> labels;
  for (const Json& each : answer.at("result")) labels.push_back(each.at("label"));
  return labels;
}

const std::string good =
    "// Loads of each warp\n"
    "global unsigned long loads_of_warp[WARPS];\n"
    "ON_INSTRUCTION: MEM_READ: { loads_of_warp[warpId()] += 1; }\n";

TEST(LanguageServer, ReportsItsCapabilitiesAndExitsAsTheProtocolRequires) {
  const Session good_session = session(begin + end);
  EXPECT_EQ(good_session.exit_code, 0);
  EXPECT_EQ(good_session.err, "");
  const Json capabilities = good_session.answer(1).at("result").at("capabilities");
  EXPECT_EQ(capabilities.at("textDocumentSync").at("change"), 1);
  EXPECT_EQ(capabilities.at("hoverProvider"), true);
  EXPECT_TRUE(good_session.answer(99).at("result").is_null());
  EXPECT_EQ(session(begin + notice("exit")).exit_code, 1) << "exit without shutdown";
  EXPECT_EQ(session(begin).exit_code, 1) << "the input ends";
}

TEST(LanguageServer, ErrorsHaveLocationAndHintAndDisappearWhenFixed) {
  const std::string bad = "unsigned long count;\r\nON_KERNEL_EXIT: { count += blockThreadID(); }\r\n";
  const Session found = session(begin + opened(bad) + changed(good, 2) +
                                notice("textDocument/didClose", {{"textDocument", {{"uri", uri}}}}) + end);
  ASSERT_EQ(found.diagnostics().size(), 3u);
  const Json first = found.diagnostics()[0];
  ASSERT_GE(first.size(), 1u);
  EXPECT_EQ(first[0].at("range"),
            Json::parse(R"({"start": {"line": 1, "character": 27}, "end": {"line": 1, "character": 40}})"));
  EXPECT_EQ(first[0].at("severity"), 1);
  EXPECT_EQ(first[0].at("message"),
            "unknown function 'blockThreadID()'\nhint: did you mean 'blockThreadId'?");
  EXPECT_TRUE(found.diagnostics()[1].empty());
  EXPECT_TRUE(found.diagnostics()[2].empty());
  EXPECT_EQ(found.exit_code, 0);
}

TEST(LanguageServer, WarningsAreWarnings) {
  const Session found = session(begin + opened("global int a[2];\nON_KERNEL_EXIT: { a[5] = 1; }\n") + end);
  ASSERT_EQ(found.diagnostics().size(), 1u);
  ASSERT_EQ(found.diagnostics()[0].size(), 1u);
  EXPECT_EQ(found.diagnostics()[0][0].at("severity"), 2);
}

/// Positions of the protocol count UTF-16 units, those of the compiler bytes.
TEST(LanguageServer, PositionsCountUtf16Units) {
  const std::string text = "ON_KERNEL_EXIT: { /* \xc3\xa4 \xf0\x9d\x84\x9e */ nothing(); }\n";
  const Session found = session(begin + opened(text) + request(2, "textDocument/hover", at(0, 2)) +
                                request(3, "textDocument/hover", at(0, 23)) + end);
  ASSERT_EQ(found.diagnostics().size(), 1u);
  ASSERT_GE(found.diagnostics()[0].size(), 1u);
  EXPECT_EQ(found.diagnostics()[0][0].at("range").at("start").at("character"), 29);
  EXPECT_THAT(found.answer(2).at("result").at("contents").at("value"),
              HasSubstr("before it exits the kernel"));
  EXPECT_TRUE(found.answer(3).at("result").is_null()) << "a comment";
}

TEST(LanguageServer, ReportsErrorsOfIncludedFilesAtTheInclusion) {
  const TemporaryFolder folder;
  folder.write("tools.cod", "static int f() { return g(); }\n");
  const Session found = session(
      begin + opened("\n  include \"tools.cod\"\nON_KERNEL_EXIT: { }\n", "file://" + folder.path("my.cod")) +
      end);
  ASSERT_EQ(found.diagnostics().size(), 1u);
  ASSERT_GE(found.diagnostics()[0].size(), 1u);
  EXPECT_EQ(found.diagnostics()[0][0].at("range").at("start"), Json::parse(R"({"line": 1, "character": 2})"));
  EXPECT_THAT(found.diagnostics()[0][0].at("message"), HasSubstr("tools.cod:1:25: unknown function 'g()'"));
}

TEST(LanguageServer, HoverShowsTheReferenceAndTheDeclaration) {
  const Session found = session(
      begin + opened(good) + request(2, "textDocument/hover", at(2, 45)) +
      request(3, "textDocument/hover", at(2, 17)) + request(4, "textDocument/hover", at(2, 30)) +
      request(5, "textDocument/hover", at(0, 5)) + request(6, "textDocument/hover", at(700, 5)) + end);
  const auto text = [&](int id) { return found.answer(id).at("result").at("contents").at("value"); };
  EXPECT_THAT(text(2), HasSubstr("```cod\nwarpId()\n```"));
  EXPECT_THAT(text(2), HasSubstr("number of the warp in the grid"));
  EXPECT_THAT(text(2), HasSubstr("cost: "));
  EXPECT_THAT(text(3), HasSubstr("reads of memory"));
  EXPECT_EQ(text(4), "```cod\nglobal unsigned long loads_of_warp[WARPS];\n```");
  EXPECT_TRUE(found.answer(5).at("result").is_null()) << "a comment";
  EXPECT_TRUE(found.answer(6).at("result").is_null()) << "past the end";
}

TEST(LanguageServer, FindsDeclarations) {
  const TemporaryFolder folder;
  const std::string included =
      folder.write("my tools.cod", "// tools\nstatic int twice(int n) { return 2 * n; }\n");
  const std::string name = "file://" + folder.path("my.cod");
  const std::string text =
      "include \"my tools.cod\"\nenum { ONE, TWO };\nglobal int n;\nstatic int both(int a, int b) { return a "
      "+ b; }\n"
      "ON_KERNEL_EXIT: {\n  int a = both(ONE, TWO), *p = &a;\n  n = twice(a) + *p;\n}\n";
  const auto asked = [&](int id, int line, int character) {
    Json place = at(line, character);
    place["textDocument"]["uri"] = name;
    return request(id, "textDocument/definition", place);
  };
  const Session found = session(begin + opened(text, name) + asked(2, 3, 39) + asked(3, 3, 43) +
                                asked(4, 5, 11) + asked(5, 5, 15) + asked(6, 6, 2) + asked(7, 6, 7) +
                                asked(8, 6, 12) + asked(9, 4, 3) + asked(10, 6, 18) + end);
  const auto place = [&](int id) {
    const Json result = found.answer(id).at("result");
    if (result.is_null()) return std::string("nowhere");
    const Json& start = result.at("range").at("start");
    return (result.at("uri") == name ? "" : result.at("uri").get<std::string>() + " ") +
           start.at("line").dump() + ":" + start.at("character").dump();
  };
  EXPECT_EQ(place(2), "3:20") << "a parameter";
  EXPECT_EQ(place(3), "3:27");
  EXPECT_EQ(place(4), "3:11") << "a helper function";
  EXPECT_EQ(place(5), "1:7") << "an enumerator";
  EXPECT_EQ(place(6), "2:11");
  EXPECT_EQ(place(7), "file://" + folder.path("my%20tools.cod") + " 1:11");
  EXPECT_EQ(place(8), "5:6") << "a variable of the handler, not the parameter";
  EXPECT_EQ(place(9), "nowhere") << "the language's own";
  EXPECT_EQ(place(10), "5:27");
}

TEST(LanguageServer, CompletesNamesOfTheLanguageAndOfTheFile) {
  const std::string text = good + "ON_\nwarp\nloa\n// ON_\n\"ON_\n\n";
  const Session found = session(
      begin + opened(text) + request(2, "textDocument/completion", at(3, 3)) +
      request(3, "textDocument/completion", at(4, 4)) + request(4, "textDocument/completion", at(5, 3)) +
      request(5, "textDocument/completion", at(6, 6)) + request(6, "textDocument/completion", at(7, 4)) +
      request(7, "textDocument/completion", at(8, 0)) + end);
  EXPECT_THAT(labels_of(found.answer(2)),
              testing::IsSupersetOf({"ON_KERNEL_ENTRY", "ON_INSTRUCTION", "ON_END"}));
  EXPECT_THAT(labels_of(found.answer(2)), Not(Contains("warpId")));
  EXPECT_THAT(labels_of(found.answer(2)), Not(Contains("ON_"))) << "what is being typed";
  EXPECT_THAT(labels_of(found.answer(3)), testing::IsSupersetOf({"warpId", "warpSum", "warpAny"}));
  EXPECT_THAT(labels_of(found.answer(4)), Contains("loads_of_warp"));
  EXPECT_THAT(labels_of(found.answer(5)), testing::IsEmpty()) << "a comment";
  EXPECT_THAT(labels_of(found.answer(6)), testing::IsEmpty()) << "a string";
  EXPECT_THAT(labels_of(found.answer(7)), testing::IsSupersetOf({"unsigned", "MEM_READ", "WARPS", "emit"}));
}

TEST(LanguageServer, AcceptsReadyMadeSpecifications) {
  std::string input = begin;
  for (const auto& each : instrumentors::ready_made())
    input += opened(std::string(each.source), "file:///x/" + std::string(each.name) + ".cod");
  const Session found = session(input + end);
  EXPECT_EQ(found.diagnostics().size(), instrumentors::ready_made().size());
  EXPECT_THAT(found.diagnostics(), testing::Each(Json::array()));
}

TEST(LanguageServer, AnswersInvalidRequestsWithErrors) {
  const auto code = [](const Json& message) { return message.at("error").at("code").get<int>(); };
  const Session early = session(request(2, "textDocument/hover", at(0, 0)) + begin + end);
  EXPECT_EQ(code(early.answer(2)), -32002);
  const Session found =
      session(begin + request(2, "no/such") + request(3, "textDocument/hover", at(0, 0)) + opened(good) +
              request(4, "textDocument/hover",
                      {{"textDocument", {{"uri", uri}}}, {"position", {{"line", -1}, {"character", 0}}}}) +
              request(5, "textDocument/completion", {{"textDocument", {{"uri", uri}}}, {"position", 7}}) +
              request(6, "textDocument/hover", Json::array({1, 2})) + notice("no/such") +
              notice("textDocument/didChange") + request(7, "textDocument/hover", at(2, 45)) + end);
  EXPECT_EQ(code(found.answer(2)), -32601);
  for (const int id : {3, 4, 5, 6}) EXPECT_EQ(code(found.answer(id)), -32602) << id;
  EXPECT_TRUE(found.answer(7).contains("result"));
  EXPECT_EQ(found.exit_code, 0);
}

TEST(LanguageServer, SurvivesInvalidMessages) {
  const std::string deep(100000, '[');
  for (const std::string& text :
       {std::string("{"), std::string(), std::string("[]"), std::string("7"), std::string("null"), deep,
        R"({"id": 5, "method": "initialize", "params": )" + deep + std::string(100000, ']') + "}",
        R"({"id": {}, "method": "shutdown"})" + std::string(), std::string(R"({"id": 5})"),
        std::string("{\"id\": 5, \"method\": \"\xff\xfe\"}"), std::string(R"({"id": 5, "method": 7})")}) {
    const Session found = session(begin + framed(text) + opened(good) + end);
    ASSERT_EQ(found.messages.size(), 4u) << text.substr(0, 80);
    EXPECT_TRUE(found.messages[1].contains("error")) << text.substr(0, 80);
    EXPECT_EQ(found.exit_code, 0) << text.substr(0, 80);
  }
}

/// No change to the messages terminates the server.
TEST(LanguageServer, SurvivesChangedMessages) {
  const std::vector<std::string> texts = {
      Json{{"jsonrpc", "2.0"},
           {"method", "textDocument/didOpen"},
           {"params", {{"textDocument", {{"uri", uri}, {"version", 1}, {"text", good}}}}}}
          .dump(),
      Json{{"jsonrpc", "2.0"},
           {"method", "textDocument/didChange"},
           {"params",
            {{"textDocument", {{"uri", uri}, {"version", 1}}}, {"contentChanges", {{{"text", good}}}}}}}
          .dump(),
      Json{{"jsonrpc", "2.0"}, {"id", 1}, {"method", "textDocument/completion"}, {"params", at(1, 3)}}.dump(),
      Json{{"jsonrpc", "2.0"}, {"id", 1}, {"method", "textDocument/hover"}, {"params", at(2, 45)}}.dump()};
  std::mt19937 random(7);
  std::string input = begin + opened(good);
  for (int i = 0; i < 300; ++i) {
    std::string text = texts[random() % texts.size()];
    for (int changes = 0; changes < 2; ++changes) {
      const std::size_t place = random() % text.size();
      if (random() % 2 == 0)
        text[place] = static_cast<char>(random() % 256);
      else
        text.erase(place, random() % 4);
    }
    input += framed(text);
  }
  const Session found = session(input + request(50, "textDocument/hover", at(0, 0)) + end);
  EXPECT_EQ(found.exit_code, 0) << found.err;
  EXPECT_FALSE(found.answer(50).is_null());
}

TEST(LanguageServer, ExitsIfTheNextMessageCannotBeFound) {
  for (const std::string& broken :
       {std::string("\r\n{}"), std::string("Content-Length: x\r\n\r\n{}"),
        std::string("Content-Length: -5\r\n\r\n{}"),
        std::string("Content-Length: 99999999999999999999\r\n\r\n{}"),
        std::string("Content-Length: 50\r\n\r\n{}"), std::string("Content-Length: 5"),
        std::string(10000, 'x'), std::string(1000, '\n')}) {
    const Session found = session(begin + broken);
    EXPECT_EQ(found.exit_code, 1) << broken.substr(0, 80);
    ASSERT_EQ(found.messages.size(), 2u) << broken.substr(0, 80);
    EXPECT_EQ(found.messages[1].at("error").at("code"), -32700);
    EXPECT_NE(found.err, "");
  }
}

TEST(LanguageServer, SkipsMessagesThatAreTooLong) {
  const Session found = session(begin + framed(std::string(9 << 20, ' ')) + opened(good) + end);
  ASSERT_EQ(found.messages.size(), 4u);
  EXPECT_THAT(found.messages[1].at("error").at("message"), HasSubstr("longer than"));
  EXPECT_EQ(found.exit_code, 0);
}

TEST(EditorText, FindsWordsOutsideOfCommentsAndLiterals) {
  const lsp::Text text("a /* b */ 'c' \"d\\\" e\" f1 2x { g(h) } // i\nj");
  std::vector<std::string> words, at_file_scope;
  for (const lsp::Word& each : text.words()) {
    words.emplace_back(each.text);
    if (each.is_at_file_scope) at_file_scope.emplace_back(each.text);
  }
  EXPECT_THAT(words, testing::ElementsAre("a", "f1", "g", "h", "j"));
  EXPECT_THAT(at_file_scope, testing::ElementsAre("a", "f1", "j"));
  EXPECT_FALSE(text.is_code(4));
  EXPECT_TRUE(text.is_code(0));
  EXPECT_EQ(text.word_at(1)->text, "a");
  EXPECT_EQ(lsp::Text("").word_at(0), nullptr);
}

}  // namespace
}  // namespace lynxpp::cli
