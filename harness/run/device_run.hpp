#pragma once

#include <memory>
#include <optional>
#include <string>

#include "harness/benchmark/bench.hpp"
#include "harness/run/node_faults.hpp"
#include "harness/run/plan.hpp"
#include "harness/run/session.hpp"
#include "harness/run/worker_process.hpp"

namespace peakline::bench {

// Measures one device's points through its worker. Use from one thread, with which the worker dies.
class DeviceRun {
 public:
  // unusable: why the device cannot be measured, or "".
  DeviceRun(Session& session, const DevicePlan& plan, std::string unusable);

  // Starts the worker if there are points left.
  void prepare();

  // Measures the plan's next points, which must be this phase's; then again, in further sittings,
  // those behind ceilings. A worker that crashes, hangs or loses its device costs only the point in
  // progress.
  void run(Phase phase);

  // Lets the worker end by itself, so that profilers can save.
  void finish();

  bool done() const { return next_ == plan_.points.size(); }

  // Records the remaining points as failed.
  void give_up(const std::string& reason);

 private:
  enum class Wait { kLine, kStopped, kFailed };

  // One sitting of a point. again: not the first one.
  void visit(const PlannedPoint& planned, bool again);
  // Failures of never_run benchmarks count as skipped.
  static void excuse(Measurement& measurement);
  Measurement failure(const PlannedPoint& planned, const std::string& reason,
                      double duration_s) const;
  void pass_over(const PlannedPoint& planned, bool again = false);
  void make_unusable(std::string reason);
  void report_unusable();
  // Why the point's GPUs cannot be measured together, or "".
  std::string why_not_together(const PlannedPoint& planned);
  // nullopt: stopped, or device unusable.
  std::optional<Measurement> measure(const PlannedPoint& planned);
  // Retries a point alone if it fails in its round.
  std::optional<Measurement> measure_or_retry_alone(const PlannedPoint& planned);
  // A point whose first value is implausible: one bad reading must not cost the device its verdict.
  // The second value counts, if there is one.
  Measurement measured_again(const PlannedPoint& planned, Measurement first);
  // Throws ProfileError if the answer is not this point's record.
  Measurement read_answer(const std::string& answer, const PlannedPoint& planned) const;
  // Starts a worker and takes its facts. False: stopped, or device unusable.
  bool start();
  // Whether the worker is ready; else the device is unusable, or `failure_` has the reason.
  bool take_facts(const std::string& line);
  // Waits for the worker's next line. kFailed: `failure_` has the reason, `end_` the exit.
  Wait wait(std::string& line, Clock::time_point deadline);

  Session& session_;
  const DevicePlan& plan_;
  std::size_t next_ = 0;
  std::string unusable_;
  std::unique_ptr<WorkerProcess> worker_;
  int answered_ = 0;  // points, by this worker
  std::string failure_;
  WorkerProcess::End end_;
  // The area of node benchmarks whose points no longer run in rounds.
  std::string alone_;
  NodeFaults faults_;
};

}  // namespace peakline::bench
