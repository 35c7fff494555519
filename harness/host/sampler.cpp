#include "harness/host/sampler.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <exception>
#include <utility>

#include "harness/host/affinity.hpp"
#include "harness/host/topology.hpp"
#include "harness/values/clock.hpp"

namespace peakline::host {
namespace {

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// A barrier that starts all threads at once. Waking a sleeping thread takes tens of microseconds,
// so threads spin first; those waiting for a busy CPU would wait long, so they yield later and
// finally sleep.
class StartLine {
 public:
  explicit StartLine(int threads) : threads_(threads) {}

  void arrive_and_wait() {
    constexpr int kSpins = 2000;
    constexpr int kYields = 200;
    const unsigned round = round_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
      arrived_.store(0, std::memory_order_relaxed);
      round_.store(round + 1, std::memory_order_release);
      round_.notify_all();
      return;
    }
    const auto released = [&] { return round_.load(std::memory_order_acquire) != round; };
    for (int i = 0; i < kSpins; ++i) {
      if (released()) return;
      pause();
    }
    for (int i = 0; i < kYields; ++i) {
      if (released()) return;
      std::this_thread::yield();
    }
    round_.wait(round, std::memory_order_acquire);
  }

 private:
  const int threads_;
  std::atomic<int> arrived_{0};
  std::atomic<unsigned> round_{0};
};

// The system's clock: Clock's atomics would make threads wait for each other.
double reading_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Team::Team(int threads) : cpus_(Topology::usable().spread(threads)) {
  threads_.reserve(cpus_.size());
  try {
    for (int thread = 0; thread < size(); ++thread)
      threads_.emplace_back([this, thread] { member(thread); });
    run([this](int thread) {
      if (bind_thread_to_cpu(cpus_[static_cast<std::size_t>(thread)])) return;
      const std::lock_guard lock(mutex_);
      bound_ = false;
    });
  } catch (...) {
    end();
    throw;
  }
}

Team::~Team() { end(); }

void Team::end() noexcept {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  start_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Team::member(int thread) {
  std::uint64_t seen = 0;
  while (true) {
    const Part* part = nullptr;
    {
      std::unique_lock lock(mutex_);
      start_.wait(lock, [&] { return ending_ || round_ != seen; });
      if (ending_) return;
      seen = round_;
      part = part_;
    }
    std::exception_ptr failure;
    try {
      (*part)(thread);
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    if (failure && !failure_) failure_ = failure;
    if (--running_ == 0) done_.notify_one();
  }
}

void Team::run(const Part& part) {
  std::unique_lock lock(mutex_);
  part_ = &part;
  running_ = size();
  failure_ = nullptr;
  ++round_;
  start_.notify_all();
  done_.wait(lock, [&] { return running_ == 0; });
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

std::vector<double> Team::time_batches(const Part& part, std::int64_t launches,
                                       std::size_t samples) {
  struct Interval {
    double start_s, finish_s;
  };
  const auto members = static_cast<std::size_t>(size());
  std::vector<Interval> intervals(samples * members);
  StartLine line(size());
  run([&](int thread) {
    // A failed thread still takes part in every start, or the others would wait forever.
    std::exception_ptr failure;
    for (std::size_t sample = 0; sample < samples; ++sample) {
      line.arrive_and_wait();
      Interval& interval = intervals[sample * members + static_cast<std::size_t>(thread)];
      interval.start_s = reading_s();
      try {
        for (std::int64_t launch = 0; launch < launches && !failure; ++launch) part(thread);
      } catch (...) {
        failure = std::current_exception();
      }
      interval.finish_s = reading_s();
    }
    if (failure) std::rethrow_exception(failure);
  });
  std::vector<double> times;
  times.reserve(samples);
  for (std::size_t sample = 0; sample < samples; ++sample) {
    const auto first = intervals.begin() + static_cast<std::ptrdiff_t>(sample * members);
    double start_s = first->start_s, finish_s = first->finish_s;
    bool set_back = false;
    for (auto it = first; it != first + static_cast<std::ptrdiff_t>(members); ++it) {
      start_s = std::min(start_s, it->start_s);
      finish_s = std::max(finish_s, it->finish_s);
      set_back |= it->finish_s < it->start_s;
    }
    if (!set_back && finish_s > start_s)
      times.push_back((finish_s - start_s) / static_cast<double>(launches));
  }
  return times.empty() ? time_batches(part, launches, samples) : times;
}

std::int64_t Team::warm_up(const Part& part, double warm_up_s, double sample_s) {
  // Clock reading and start cost about 1 us, far less than this.
  constexpr double kShortestS = 50e-6;
  const double start_s = now_s();
  std::int64_t launches = 1;
  while (true) {
    const double batch_s = time_batches(part, launches, 1).front() * static_cast<double>(launches);
    if (now_s() - start_s < warm_up_s || batch_s < kShortestS) {
      if (batch_s < sample_s / 2) launches *= 2;
      continue;
    }
    const double wanted = std::ceil(sample_s / batch_s * static_cast<double>(launches));
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(wanted));
  }
}

}  // namespace peakline::host
