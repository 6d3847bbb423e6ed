// Host code: variables that persist across launches, ON_END, tables, and queries about the launch and the
// device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cod/test_support.h"

namespace lynxpp::cod {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Reports several launches and then the end, with one state.
struct Session {
  explicit Session(const std::string& source) : specification(compiled(source)) {
    if (specification == nullptr) return;
    auto compiled_report = specification->compile_host();
    EXPECT_TRUE(compiled_report) << render(compiled_report.error().diagnostics, source);
    if (!compiled_report) return;
    report = *compiled_report;
    state = report->initial_state();
  }
  std::vector<Emitted> run(std::vector<std::uint64_t> contents = {}, std::uint64_t index = 0) {
    LaunchView view;
    view.kernel = "_Z6vecaddPKfS0_Pfi";
    view.grid[0] = 2;
    view.block[0] = 64;
    view.device = "an H200";
    view.multiprocessors = 132;
    view.compute_capability = 90;
    view.launch = index;
    if (!contents.empty()) view.arrays.push_back(std::as_writable_bytes(std::span(contents)));
    return receive(view, false);
  }
  std::vector<Emitted> end() { return receive({}, true); }

  SpecificationPtr specification;
  std::shared_ptr<const HostReport> report;
  std::vector<std::byte> state;
  std::string printed;
  std::string failure;

 private:
  std::vector<Emitted> receive(LaunchView view, bool is_end) {
    std::vector<Emitted> emitted;
    view.host = state;
    view.emit = [&](Emitted each) { emitted.push_back(std::move(each)); };
    view.print = [&](std::string_view text) { printed += text; };
    const Status status = is_end ? report->end(view) : report->run(view);
    if (!status) failure += render(status.error().diagnostics, specification->source());
    return emitted;
  }
};

double number_in(const Emitted& emitted, std::size_t index = 0) {
  return std::visit([&](const auto& values) { return static_cast<double>(values.at(index)); },
                    emitted.values);
}

TEST(HostVariables, PersistAcrossLaunches) {
  Session session(
      "global unsigned long a[3];\nhost unsigned long total = 5, launches; host double worst = 1e30;\n"
      "host int seen[2][2] = {{1}, {2, 3}}; host struct { char tag; float mean; } last;\n"
      "ON_KERNEL_EXIT: { a[0] = 1; }\n"
      "ON_REPORT: { total += sum(a); ++launches; if (a[1] < worst) worst = a[1]; seen[1][0] += 1; last.mean "
      "= mean(a);\n"
      "  last.tag = 'x'; emit(\"so_far\", total); }\n"
      "ON_END: { emit(\"total\", total, \"things\"); emit(\"launches\", launches); emit(\"worst\", worst);\n"
      "  emit(\"seen\", seen); emit(\"sum\", sum(seen)); emit(\"mean\", last.mean); print(\"%d\", last.tag); "
      "}");
  ASSERT_TRUE(session.report->has_end());
  EXPECT_EQ(number_in(session.run({1, 20, 3}).at(0)), 29);
  EXPECT_EQ(number_in(session.run({4, 10, 4}).at(0)), 47);
  const std::vector<Emitted> end = session.end();
  ASSERT_EQ(end.size(), 6u);
  EXPECT_EQ(number_in(end[0]), 47);
  EXPECT_EQ(end[0].unit, "things");
  EXPECT_EQ(number_in(end[1]), 2);
  EXPECT_EQ(number_in(end[2]), 10);
  EXPECT_THAT(end[3].dimensions, ElementsAre(2, 2));
  EXPECT_EQ(number_in(end[3], 2), 4) << "two launches added to 2";
  EXPECT_EQ(number_in(end[4]), 1 + 0 + 4 + 3);
  EXPECT_EQ(number_in(end[5]), 6);
  EXPECT_EQ(session.printed, "120");
  EXPECT_EQ(session.failure, "");
}

TEST(HostVariables, WithoutOnReportEveryArrayIsStillAResult) {
  Session session("global unsigned long a;\nON_KERNEL_EXIT: { a = 1; }\nON_END: { emit(\"done\", 1); }");
  EXPECT_EQ(session.run({7}).at(0).name, "a");
  EXPECT_EQ(session.end().at(0).name, "done");
}

TEST(HostVariables, AreCheckedForBounds) {
  Session session("host int h[4]; host int i = 9;\nON_END: { h[i] = 1; emit(\"h\", h[i + 1] + h[3]); }");
  EXPECT_EQ(number_in(session.end().at(0)), 0);
  EXPECT_THAT(session.failure, HasSubstr("out of range"));
}

TEST(HostVariables, MistakesAreLocated) {
  const std::string declarations =
      "global long a[4]; host long h; host long hs[3];\nlong s; long f() { return h; } "
      "long g() { return a[0]; }\n";
  const std::pair<const char*, const char*> mistakes[] = {
      {"ON_KERNEL_EXIT: { h = 1; }", "'h' is a 'host' variable"},
      {"ON_KERNEL_EXIT: { s = f(); }", "'f()' uses 'h', which is a 'host' variable"},
      {"ON_END: { emit(\"x\", a[0]); }", "'a' belongs to a launch and is not available in ON_END"},
      {"ON_END: { emit(\"x\", a); }", "'a' belongs to a launch and is not available in ON_END"},
      {"ON_END: { emit(\"x\", sum(a)); }", "'a' belongs to a launch and is not available in ON_END"},
      {"ON_END: { emit(\"x\", g()); }",
       "'g()' uses 'a', which belongs to a launch and is not available in ON_END"},
      {"ON_END: { emit(\"x\", THREADS); }", "'THREADS' belongs to a launch"},
      {"ON_END: { emit(\"x\", gridDimX()); }", "gridDimX() is not available in ON_END"},
      {"ON_END: { emit(\"x\", s); }", "belongs to the threads of the kernel"},
      {"ON_END: EVERY(2): { }", "EVERY is not allowed in ON_END"},
      {"host const int c = 1; ON_END: { }", "a 'host' variable cannot be const"},
      {"host int *p; ON_END: { }", "cannot be a pointer"},
      {"host int c = s; ON_END: { }", "must be a compile-time constant"},
      {"host int c[2] = 5; ON_END: { }", "write a list in braces"},
      {"host int c[THREADS]; ON_END: { }", "must be a constant integer"},
      {"host long c[1 << 26]; ON_END: { }", "'host' array of"},
      {"hosts int c; ON_END: { }", "did you mean 'host'?"},
      {"ON_REPORT: { emitTable(\"t\", \"x\"); }", "emitTable() takes 3 to 33 arguments"},
      {"ON_REPORT: { emitTable(\"t\", \"x\", 5); }", "a column of a table must be an array"},
      {"ON_REPORT: { emitTable(\"t\", \"x\", a, \"y\"); }",
       "each column of a table needs a name and an array"},
      {"ON_REPORT: { emitTable(\"t\", \"x\", a, \"y\", hs); }", "'hs' has different extents from 'a'"},
      {"ON_REPORT: { emitTable(\"t\", 5, a); }", "name of a column must be a non-empty string"},
      {"struct p { int x[2]; }; global struct p ps[4]; ON_REPORT: { emit(\"t\", ps); }", "is an array"},
  };
  for (const auto& [code, message] : mistakes)
    EXPECT_THAT(errors_of(declarations + code), HasSubstr(message)) << code;
}

TEST(HostVariables, HostIsNotReserved) {
  EXPECT_EQ(errors_of("long host; ON_KERNEL_EXIT: { host += 1; long x = host; }"), "");
}

TEST(HostTables, HaveAColumnForEachArrayOrField) {
  Session session(
      "global unsigned long a[3]; host int b[3] = {7, 8, 9};\nhost struct { int x; struct { double y; } in; "
      "} pairs[2];\n"
      "ON_KERNEL_EXIT: { a[0] = 1; }\n"
      "ON_REPORT: { pairs[1].in.y = 2.5; host_set(); emitTable(\"t\", \"first\", a, \"second\", b); "
      "emit(\"p\", pairs, "
      "\"m\"); }\nvoid host_set() { pairs[0].x = -4; }");
  const std::vector<Emitted> emitted = session.run({1, 2, 3});
  ASSERT_EQ(emitted.size(), 4u);
  EXPECT_EQ(emitted[0].name, "t.first");
  EXPECT_EQ(emitted[0].table, "t");
  EXPECT_EQ(number_in(emitted[0], 2), 3);
  EXPECT_EQ(emitted[1].name, "t.second");
  EXPECT_EQ(number_in(emitted[1], 2), 9);
  EXPECT_EQ(emitted[2].name, "p.x");
  EXPECT_EQ(number_in(emitted[2], 0), -4);
  EXPECT_EQ(emitted[3].name, "p.in.y");
  EXPECT_EQ(emitted[3].unit, "m");
  EXPECT_EQ(number_in(emitted[3], 1), 2.5);
}

TEST(HostLaunch, ExposesItsProperties) {
  Session session(
      "ON_REPORT: { print(\"%s %s %u %u %lu\", kernelName(), deviceName(), multiprocessorCount(), "
      "computeCapability(), "
      "launchIndex()); emit(kernelName(), launchIndex()); }");
  EXPECT_EQ(session.run({}, 17).at(0).name, "vecadd(float const*, float const*, float*, int)");
  EXPECT_EQ(session.printed, "vecadd(float const*, float const*, float*, int) an H200 132 90 17");
}

}  // namespace
}  // namespace lynxpp::cod
