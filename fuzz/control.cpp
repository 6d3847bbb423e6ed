// Handles any lines as requests to a process's socket (interposer/control/answer.h). Every answer must be one
// line of JSON: the status or an error.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "interposer/control/answer.h"
#include "interposer/session/session.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

class Nothing final : public lynxpp::report::Sink {
 public:
  void sites(const lynxpp::report::SitesRecord&) override {}
  void launch(const lynxpp::report::LaunchRecord&) override {}
  void total(const lynxpp::report::TotalRecord&) override {}
  void coverage(const lynxpp::report::CoverageRecord&) override {}
  void timing(const lynxpp::report::TimingRecord&) override {}
  void finish() override {}
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lynxpp::interposer;
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (text.find('/') != std::string::npos) return 0;  // do not read this machine's files
  Session session({}, std::make_unique<Nothing>(), Session::Results::on_demand);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const Answer given = answer(session, line, {"device", 1});
    require(given.text.find('\n') == std::string::npos);
    const auto told = nlohmann::json::parse(given.text, nullptr, false);
    require(told.is_object() && (told.contains("error") || told.contains("specifications")));
    require(!told.contains("error") || !given.attached);
  }
  return 0;
}
