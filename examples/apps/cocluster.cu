// cocluster: co-clustering of a matrix. Rows get one of `row_clusters` labels, columns one of
// `column_clusters`, to minimize the sum of squared distances of elements from the mean of all elements with
// the same two labels. A round has two halves: every row gets the label that is nearest to the means, then
// every column does; after each half, the sums of the means are computed.
//
// A thread iterates over the elements of its row (or column) once per label. The grid is fixed, so that a
// thread has several rows (the outer loop of GMProf's Figure 2). All threads of a block read the same means
// and the labels of the other axis, so the block keeps both in shared memory, together with the sizes of the
// labels; a label without elements is skipped.
#include <algorithm>
#include <cmath>

#include "example.h"

constexpr int row_clusters = 6;
constexpr int column_clusters = 4;
constexpr int means_size = row_clusters * column_clusters;
constexpr int threads = 64;
constexpr int rounds = 2;
constexpr int lines_each = 4;  ///< rows or columns of a thread

/// Rows or columns: number, stride in the matrix, number of labels, stride among the means.
struct Axis {
  int length, step, clusters, mean_step;
};

/// Input of a half round: the labels of the other axis, and the size of each label of this axis.
struct State {
  const float* means;
  const int* other_labels;
  const int* sizes;
};

__device__ float distance_from(const float* line, const Axis& other, const float* means, const int* labels) {
  float distance = 0.0f;
  for (int i = 0; i < other.length; ++i) {
    const float away = line[static_cast<std::size_t>(i) * other.step] - means[labels[i] * other.mean_step];
    distance = fmaf(away, away, distance);
  }
  return distance;
}

__global__ void cocluster_assign(const float* data, State state, Axis axis, Axis other, int* labels) {
  extern __shared__ int other_labels[];
  __shared__ float means[means_size];
  __shared__ int sizes[row_clusters > column_clusters ? row_clusters : column_clusters];
  for (int i = threadIdx.x; i < other.length; i += threads) other_labels[i] = state.other_labels[i];
  if (threadIdx.x < means_size) means[threadIdx.x] = state.means[threadIdx.x];
  if (threadIdx.x < axis.clusters) sizes[threadIdx.x] = state.sizes[threadIdx.x];
  __syncthreads();
  for (int at = blockIdx.x * threads + threadIdx.x; at < axis.length; at += gridDim.x * threads) {
    const float* const line = data + static_cast<std::size_t>(at) * axis.step;
    int nearest = 0;
    float least = 3e38f;
    for (int cluster = 0; cluster < axis.clusters; ++cluster) {
      if (sizes[cluster] == 0) continue;
      const float distance = distance_from(line, other, means + cluster * axis.mean_step, other_labels);
      if (distance < least) {
        least = distance;
        nearest = cluster;
      }
    }
    labels[at] = nearest;
  }
}

// The elements are integers, so their sums do not depend on the order.
__global__ void cocluster_sums(const float* data, const int* row_labels, const int* column_labels, int rows,
                               int columns, int* sums) {
  extern __shared__ int block_column_labels[];
  __shared__ int block_sums[means_size];
  for (int i = threadIdx.x; i < columns; i += threads) block_column_labels[i] = column_labels[i];
  if (threadIdx.x < means_size) block_sums[threadIdx.x] = 0;
  __syncthreads();
  const int row = blockIdx.x * threads + threadIdx.x;
  if (row < rows) {
    int* const of_row = block_sums + row_labels[row] * column_clusters;
    for (int column = 0; column < columns; ++column) {
      const float element = data[static_cast<std::size_t>(row) * columns + column];
      atomicAdd(&of_row[block_column_labels[column]], static_cast<int>(element));
    }
  }
  __syncthreads();
  if (threadIdx.x < means_size) atomicAdd(&sums[threadIdx.x], block_sums[threadIdx.x]);
}

/// The labels of both axes and the matrix's sums, on the host.
struct Clustering {
  std::vector<int> row_labels, column_labels, sums;
};

std::vector<int> sizes_of(const std::vector<int>& labels, int clusters) {
  std::vector<int> sizes(clusters);
  for (const int label : labels) ++sizes[label];
  return sizes;
}

std::vector<int> sums_on_host(const std::vector<float>& data, const Clustering& clustering) {
  std::vector<int> sums(means_size);
  for (std::size_t at = 0; at < data.size(); ++at) {
    const std::size_t columns = clustering.column_labels.size();
    const int row_label = clustering.row_labels[at / columns];
    sums[row_label * column_clusters + clustering.column_labels[at % columns]] += static_cast<int>(data[at]);
  }
  return sums;
}

std::vector<float> means_of(const Clustering& clustering) {
  const std::vector<int> rows = sizes_of(clustering.row_labels, row_clusters);
  const std::vector<int> columns = sizes_of(clustering.column_labels, column_clusters);
  std::vector<float> means(means_size);
  for (int i = 0; i < means_size; ++i) {
    const int elements = rows[i / column_clusters] * columns[i % column_clusters];
    means[i] = static_cast<float>(clustering.sums[i]) / static_cast<float>(std::max(elements, 1));
  }
  return means;
}

std::vector<int> assign_on_host(const std::vector<float>& data, const Clustering& now, const Axis& axis,
                                const Axis& other, bool of_rows) {
  const std::vector<float> means = means_of(now);
  const std::vector<int> sizes = sizes_of(of_rows ? now.row_labels : now.column_labels, axis.clusters);
  const std::vector<int>& other_labels = of_rows ? now.column_labels : now.row_labels;
  std::vector<int> labels(axis.length);
  for (int at = 0; at < axis.length; ++at) {
    float least = 3e38f;
    for (int cluster = 0; cluster < axis.clusters; ++cluster) {
      if (sizes[cluster] == 0) continue;
      float distance = 0.0f;
      for (int i = 0; i < other.length; ++i) {
        const float element =
            data[static_cast<std::size_t>(at) * axis.step + static_cast<std::size_t>(i) * other.step];
        const float away = element - means[cluster * axis.mean_step + other_labels[i] * other.mean_step];
        distance = std::fmaf(away, away, distance);
      }
      if (distance >= least) continue;
      least = distance;
      labels[at] = cluster;
    }
  }
  return labels;
}

/// Runs a half round on the device, and the sums after it; returns true if both match the host's `now`.
bool half_round(const example::DeviceArray<float>& data, Clustering& now, const std::vector<float>& host_data,
                const Axis& axis, const Axis& other, bool of_rows) {
  std::vector<int>& labels = of_rows ? now.row_labels : now.column_labels;
  const example::DeviceArray<float> means(means_of(now));
  const example::DeviceArray<int> other_labels(of_rows ? now.column_labels : now.row_labels),
      sizes(sizes_of(labels, axis.clusters)), device_labels(axis.length);
  const auto assign = [&] {
    cocluster_assign<<<example::ceil_div(axis.length, threads * lines_each), threads,
                       other.length * sizeof(int)>>>(
        data.get(), State{means.get(), other_labels.get(), sizes.get()}, axis, other, device_labels.get());
  };
  assign();
  CUDA_CHECK(cudaGetLastError());
  labels = assign_on_host(host_data, now, axis, other, of_rows);
  bool right = example::same(of_rows ? "row labels" : "column labels", device_labels.download(), labels);
  now.sums = sums_on_host(host_data, now);

  const Axis& rows = of_rows ? axis : other;
  const int columns = rows.step;
  example::DeviceArray<int> sums(means_size);
  const int* const row_labels = of_rows ? device_labels.get() : other_labels.get();
  const int* const column_labels = of_rows ? other_labels.get() : device_labels.get();
  const auto add = [&] {
    cocluster_sums<<<example::ceil_div(rows.length, threads), threads, columns * sizeof(int)>>>(
        data.get(), row_labels, column_labels, rows.length, columns, sums.get());
  };
  sums.clear();
  add();
  CUDA_CHECK(cudaGetLastError());
  right = example::same("sums", sums.download(), now.sums) && right;
  example::measure("cocluster_assign", assign);
  example::measure("cocluster_sums", add);
  return right;
}

int main(int argc, char** argv) {
  const int columns = example::size_argument(argc, argv, 128, 4096), rows = 2 * columns;
  const Axis row_axis{rows, columns, row_clusters, column_clusters},
      column_axis{columns, 1, column_clusters, 1};
  example::Random random(24);
  Clustering now{std::vector<int>(rows), std::vector<int>(columns), {}};
  std::vector<float> data(static_cast<std::size_t>(rows) * columns);
  // A hidden clustering with some noise; the search starts from partly correct labels.
  std::vector<int> hidden(means_size);
  for (int& value : hidden) value = random.below(12);
  for (int& label : now.row_labels) label = random.below(row_clusters);
  for (int& label : now.column_labels) label = random.below(column_clusters);
  for (std::size_t at = 0; at < data.size(); ++at) {
    const int label = now.row_labels[at / columns] * column_clusters + now.column_labels[at % columns];
    data[at] = static_cast<float>(hidden[label] + random.below(4));
  }
  for (int& label : now.row_labels) label = random.below(2) == 0 ? label : random.below(row_clusters);
  for (int& label : now.column_labels) label = random.below(2) == 0 ? label : random.below(column_clusters);
  now.sums = sums_on_host(data, now);

  const example::DeviceArray<float> device_data(data);
  bool right = true;
  for (int round = 0; round < rounds; ++round) {
    right = half_round(device_data, now, data, row_axis, column_axis, true) && right;
    right = half_round(device_data, now, data, column_axis, row_axis, false) && right;
  }
  std::printf("cocluster: %d x %d, %d rounds\n", rows, columns, rounds);
  std::uint64_t checksum = example::fnv1a(now.row_labels);
  checksum = example::fnv1a(now.sums, example::fnv1a(now.column_labels, checksum));
  return example::finish("cocluster", right, checksum);
}
