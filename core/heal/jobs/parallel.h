#ifndef SAMEBITS_CORE_HEAL_JOBS_PARALLEL_H_
#define SAMEBITS_CORE_HEAL_JOBS_PARALLEL_H_

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace samebits::heal {

// work(0) .. work(count - 1), each once, on at most 16 threads; returns when all are done. Calls share nothing that one
// of them writes, and do not throw: what is computed does not depend on the number of threads.
template <typename Work>
void ParallelFor(int count, const Work& work) {
  const int threads = std::min({count, static_cast<int>(std::thread::hardware_concurrency()), 16});
  std::atomic<int> next = 0;
  const auto run = [&] {
    for (int i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i) others.emplace_back(run);
  run();
  for (std::thread& other : others) other.join();
}

}  // namespace samebits::heal

#endif  // SAMEBITS_CORE_HEAL_JOBS_PARALLEL_H_
