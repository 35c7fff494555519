#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace peakline::host {

// Threads bound to CPUs by Topology::spread(). The caller sleeps while they work.
class Team {
 public:
  // One thread's part of the work; thread: 0 ... size() - 1.
  using Part = std::function<void(int thread)>;

  explicit Team(int threads);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return static_cast<int>(cpus_.size()); }
  const std::vector<int>& cpus() const { return cpus_; }
  bool bound() const { return bound_; }

  // Runs every thread's part once and waits. Rethrows what a part threw.
  void run(const Part& part);

  // Seconds per launch of `samples` samples, in time order. In a sample each thread does its part
  // `launches` times; it ends with the last thread, so stragglers count. Samples during which the
  // clock was set back are dropped, unless all are. Rethrows what a part threw.
  std::vector<double> time_batches(const Part& part, std::int64_t launches, std::size_t samples);

  // Repeats the work for at least `warm_up_s`, until clocks, code and pages are warm. Returns the
  // launches for a sample of about `sample_s`.
  std::int64_t warm_up(const Part& part, double warm_up_s, double sample_s);

 private:
  void member(int thread);
  void end() noexcept;

  std::vector<int> cpus_;
  bool bound_ = true;
  std::mutex mutex_;
  std::condition_variable start_, done_;
  const Part* part_ = nullptr;  // this and below: guarded by mutex_
  std::uint64_t round_ = 0;     // calls of run()
  int running_ = 0;
  bool ending_ = false;
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;
};

}  // namespace peakline::host
