#include "ptx/analysis/flow/strong_components.h"

#include <algorithm>

namespace lynxpp::ptx {
namespace {

constexpr std::uint32_t unseen = 0xffffffff;

class Tarjan {
 public:
  explicit Tarjan(const std::vector<std::vector<std::uint32_t>>& successors)
      : successors_(successors),
        index_(successors.size(), unseen),
        low_(successors.size(), 0),
        open_(successors.size(), false) {}

  std::vector<std::vector<std::uint32_t>> run() {
    for (std::uint32_t node = 0; node < successors_.size(); ++node) {
      if (index_[node] == unseen) visit_from(node);
    }
    return std::move(components_);
  }

 private:
  struct Visit {
    std::uint32_t node = 0;
    std::size_t next = 0;
  };

  void enter(std::uint32_t node) {
    index_[node] = low_[node] = clock_++;
    open_[node] = true;
    path_.push_back(node);
    stack_.push_back({node, 0});
  }

  void visit_from(std::uint32_t root) {
    enter(root);
    while (!stack_.empty()) {
      Visit& visit = stack_.back();
      const std::uint32_t node = visit.node;
      if (visit.next < successors_[node].size()) {
        const std::uint32_t successor = successors_[node][visit.next++];
        if (index_[successor] == unseen) {
          enter(successor);
        } else if (open_[successor]) {
          low_[node] = std::min(low_[node], index_[successor]);
        }
        continue;
      }
      stack_.pop_back();
      if (!stack_.empty()) low_[stack_.back().node] = std::min(low_[stack_.back().node], low_[node]);
      if (low_[node] == index_[node]) close(node);
    }
  }

  void close(std::uint32_t root) {
    std::vector<std::uint32_t> component;
    std::uint32_t node = unseen;
    while (node != root) {
      node = path_.back();
      path_.pop_back();
      open_[node] = false;
      component.push_back(node);
    }
    std::ranges::sort(component);
    components_.push_back(std::move(component));
  }

  const std::vector<std::vector<std::uint32_t>>& successors_;
  std::vector<std::uint32_t> index_, low_;
  std::vector<bool> open_;
  std::vector<std::uint32_t> path_;
  std::vector<Visit> stack_;
  std::vector<std::vector<std::uint32_t>> components_;
  std::uint32_t clock_ = 0;
};

}  // namespace

std::vector<std::vector<std::uint32_t>> strong_components(
    const std::vector<std::vector<std::uint32_t>>& successors) {
  return Tarjan(successors).run();
}

}  // namespace lynxpp::ptx
