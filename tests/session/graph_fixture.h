// Graphs of a device that only records its calls.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "device/graphs.h"
#include "tests/session/session_fixture.h"

namespace lynxpp::interposer {

/// The replies of a driver, and the requests it received.
struct Answers {
  bool has_buffers = true, has_results = true, can_instantiate = true;
  int instantiated = 0;
  int launched = 0;
  std::vector<std::byte> bytes;
  bool ready = true;
  std::vector<device::ProgramGraph::Part> parts;  ///< empty: the graph cannot be taken apart
  int taken_apart = 0;
  std::vector<std::size_t> others;  ///< parts that were launched
  std::function<void()> during_launch;
};

class FakeGraph : public device::ProgramGraph {
 public:
  explicit FakeGraph(Answers& answers) : answers_(answers) {}
  Result<device::Launch> launch_of(const device::GraphCopy&, std::size_t) override {
    device::Launch launch;
    launch.block[0] = 32;
    return launch;
  }
  Status reserve_buffers(std::size_t bytes) override {
    answers_.bytes.assign(bytes, {});
    return answers_.has_buffers ? success() : Status(failure("the device is full"));
  }
  Status instantiate(const device::GraphCopy&, std::span<const device::VariantNode>) override {
    ++answers_.instantiated;
    return answers_.can_instantiate ? success() : Status(failure("out of memory"));
  }
  Status reserve_results() override {
    return answers_.has_results ? success() : Status(failure("the host is full"));
  }
  Status launch(std::span<const device::BufferWrite>, const device::Launch&) override {
    if (answers_.during_launch) answers_.during_launch();
    ++answers_.launched;
    return success();
  }
  Result<std::unique_ptr<device::Readback>> read_back(const device::Launch&) override {
    return std::unique_ptr<device::Readback>(
        std::make_unique<FakeReadback>(answers_.bytes, answers_.ready, answers_.ready, false, std::nullopt));
  }
  Result<std::span<const Part>> take_apart(const device::GraphCopy& copy) override {
    if (answers_.parts.empty()) return ProgramGraph::take_apart(copy);
    ++answers_.taken_apart;
    return std::span<const Part>(answers_.parts);
  }
  Status launch_others(std::size_t part, const device::Launch&) override {
    answers_.others.push_back(part);
    return success();
  }
  void order(const device::Launch&) override {}
  void launched(const device::Launch&) override {}

 private:
  Answers& answers_;
};

class GraphDevice : public FakeDevice {
 public:
  Result<std::unique_ptr<device::ProgramGraph>> program_graph() override {
    return std::unique_ptr<device::ProgramGraph>(std::make_unique<FakeGraph>(answers));
  }
  Answers answers;
};

}  // namespace lynxpp::interposer
