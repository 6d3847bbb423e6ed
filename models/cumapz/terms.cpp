#include "models/cumapz/terms.h"

#include <algorithm>
#include <cmath>

namespace lynxpp::models::cumapz {
namespace {

double ratio(std::int64_t numerator, std::int64_t denominator) {
  return denominator == 0 ? 1 : static_cast<double>(numerator) / static_cast<double>(denominator);
}

double channel_skew(const Totals& totals, const Machine& machine) {
  double sum = 0, bytes = 0;
  for (const ChannelUse& use : totals.channel_uses) {
    sum += skew_of(use, machine) * static_cast<double>(use.bytes);
    bytes += static_cast<double>(use.bytes);
  }
  return bytes == 0 ? 1 : sum / bytes;
}

double arithmetic_hiding(std::int64_t instructions, std::int64_t requests, const Latency& latency) {
  if (requests == 0) return 1;
  const double of_request = static_cast<double>(instructions) / static_cast<double>(requests);
  return std::sqrt(1 + std::min(1.0, of_request * latency.issue / latency.cycles));
}

}  // namespace

double skew_of(const ChannelUse& use, const Machine& machine) {
  std::int64_t most = 0, least = 0, used = 0;
  for (const std::int64_t blocks : use.blocks) {
    if (blocks == 0) continue;
    ++used;
    most = std::max(most, blocks);
    least = used == 1 ? blocks : std::min(least, blocks);
  }
  if (used == 0) return 1;
  return std::max(ratio(most, least),
                  static_cast<double>(machine.global.channels) / static_cast<double>(used));
}

Terms terms_of(const Totals& totals, const Machine& machine) {
  Terms terms;
  std::int64_t fetches = 0, fetched = 0, found = 0, requested = 0, transferred = 0, requests = 0, served = 0,
               warps = 0, diverged = 0, global_requests = 0;
  CachedTraffic cached;
  for (const ReferenceTotals& each : totals.references) {
    const bool is_fetch = each.kind == Statement::Kind::fetch && each.warps != 0;
    if (is_fetch) {
      ++fetches;
      fetched += each.global.transferred_bytes + each.cached.moved_bytes;
    } else {
      terms.accesses += each.accesses;
      terms.hits += each.hits;
      warps += each.accesses != 0 ? each.warps : 0;
    }
    terms.global_accesses += each.accesses - each.hits;
    found += each.reused_bytes;
    requested += each.global.requested_bytes;
    transferred += each.global.transferred_bytes;
    requests += each.shared.requests;
    served += each.shared.served;
    diverged += each.diverged;
    global_requests += each.global.requests;
    cached.requested_bytes += each.cached.requested_bytes;
    cached.moved_bytes += each.cached.moved_bytes;
    cached.requests += each.cached.requests;
    cached.served += each.cached.served;
  }
  constexpr double enough = 0.5;  // occupancy beyond which there is no gain
  terms.data_reuse = ratio(found, fetched);
  terms.latency_hiding = std::min(totals.occupancy.share, enough) / enough *
                         std::sqrt(static_cast<double>(std::max<std::int64_t>(fetches, 1)));
  terms.bandwidth_use = ratio(requested, transferred);
  terms.channel_skew = channel_skew(totals, machine);
  terms.shared_efficiency = ratio(requests, served);
  terms.branch_efficiency = ratio(warps, warps + diverged);
  terms.arithmetic_hiding = arithmetic_hiding(totals.arithmetic, global_requests, machine.latency);
  terms.texture_reuse = ratio(cached.requested_bytes, cached.moved_bytes);
  terms.constant_efficiency = ratio(cached.requests, cached.served);
  terms.estimate = terms.data_reuse * terms.latency_hiding * terms.bandwidth_use / terms.channel_skew *
                   terms.branch_efficiency * std::sqrt(terms.shared_efficiency) * terms.arithmetic_hiding *
                   terms.texture_reuse * std::sqrt(terms.constant_efficiency);
  return terms;
}

}  // namespace lynxpp::models::cumapz
