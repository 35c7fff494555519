#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/benchmark/bench.hpp"
#include "harness/run/node_faults.hpp"
#include "harness/run/plan.hpp"
#include "harness/run/session.hpp"
#include "harness/run/worker_process.hpp"

namespace peakline::bench {

// Measures one device's points by means of its worker. Use it from one thread: the worker dies with
// the thread that started it.
class DeviceRun {
 public:
  // unusable: why the device cannot be measured; empty if it can.
  DeviceRun(Session& session, const DevicePlan& plan, std::string unusable);

  // Measures the points of a phase, which have to be the next ones of the plan; then, in further
  // sittings, those that ceilings come from. A worker that crashes, hangs or loses its
  // device costs the point it was working on.
  void run(Phase phase);

  // Lets the worker end by itself: profilers that watch it need that to save what they saw.
  void finish();

  // No point is left.
  bool done() const { return next_ == plan_.points.size(); }

  // Records the remaining points as failed, where no single point is to blame.
  void give_up(const std::string& reason);

 private:
  // The outcome of waiting for a line.
  enum class Wait { kLine, kStopped, kFailed };

  // One sitting of a point.
  // again: in a further sitting of the run.
  void visit(const PlannedPoint& planned, bool again);
  // A failure of what was never run on hardware is no fault of the device.
  static void excuse(Measurement& measurement);
  Measurement failure(const PlannedPoint& planned, const std::string& reason,
                      double duration_s) const;
  void pass_over(const PlannedPoint& planned, bool again = false);
  void make_unusable(std::string reason);
  void report_unusable();
  // Says why the GPUs of a point of the node cannot be measured together; empty: they can.
  std::string why_not_together(const PlannedPoint& planned);
  // nullopt: stopped meanwhile, or the device is unusable.
  std::optional<Measurement> measure(const PlannedPoint& planned);
  // Measures a point; one that fails beside others is measured once more, alone.
  std::optional<Measurement> measure_or_retry_alone(const PlannedPoint& planned);
  // Throws ProfileError where the answer is not this point's record.
  Measurement read_answer(const std::string& answer, const PlannedPoint& planned) const;
  // Starts a worker and takes its facts. False: stopped meanwhile, or the device is unusable now.
  bool start();
  // True: the worker is ready. False: the device is unusable, or `failure_` says what went wrong.
  bool take_facts(const std::string& line);
  // Waits for the worker's next line. kFailed: `failure_` says why, and `end_` how it ended.
  Wait wait(std::string& line, Clock::time_point deadline);

  Session& session_;
  const DevicePlan& plan_;
  std::size_t next_ = 0;
  std::string unusable_;
  std::unique_ptr<WorkerProcess> worker_;
  int answered_ = 0;  // points, by this worker
  std::string failure_;
  WorkerProcess::End end_;
  std::string alone_;  // the area of the node's benchmarks whose points are not measured next to
                       // others any more
  NodeFaults faults_;
};

// The worker's options as command-line arguments, which the `worker` command parses.
std::vector<std::string> worker_arguments(const std::string& device, const RunOptions& options);

}  // namespace peakline::bench
