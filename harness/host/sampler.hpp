#pragma once

// Times work of many host threads at once: a team of bound threads that start together.

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace peakline::host {

// Threads that live as long as the team, each bound to a CPU as Topology::spread() says. The
// calling thread is not one of them and sleeps while they work.
class Team {
 public:
  // One thread's part of the work; gets the thread's number, 0 ... size() - 1.
  using Part = std::function<void(int thread)>;

  explicit Team(int threads);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return static_cast<int>(cpus_.size()); }
  const std::vector<int>& cpus() const { return cpus_; }
  // Whether every thread could be bound.
  bool bound() const { return bound_; }

  // Every thread does its part once; returns when all are done. Rethrows what a part threw.
  void run(const Part& part);

  // Seconds per launch of `samples` samples, in time order. In a sample every thread does its part
  // `launches` times; it lasts from the first thread's start to the last one's finish, so
  // stragglers count. Samples during which the clock was set back are left out, but never all.
  // Rethrows what a part threw.
  std::vector<double> time_batches(const Part& part, std::int64_t launches, std::size_t samples);

  // Repeats the work for at least `warm_up_s`, so that clocks ramp up and code and pages are
  // loaded. Returns how many launches make a sample of about `sample_s`.
  std::int64_t warm_up(const Part& part, double warm_up_s, double sample_s);

 private:
  void member(int thread);
  void end() noexcept;

  std::vector<int> cpus_;
  bool bound_ = true;
  std::mutex mutex_;
  std::condition_variable start_, done_;
  const Part* part_ = nullptr;  // guarded by mutex_, like all below
  std::uint64_t round_ = 0;     // counts calls of run()
  int running_ = 0;
  bool ending_ = false;
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;
};

}  // namespace peakline::host
