#include <sys/prctl.h>

#include <memory>
#include <string>

#include "harness/cli/commands.hpp"
#include "harness/cli/measure_options.hpp"
#include "harness/run/worker.hpp"
#include "harness/run/worker_process.hpp"

namespace peakline::bench {

void add_worker_command(CLI::App& app, const Program& program, Action& action) {
  auto measure = std::make_shared<MeasureOptions>();
  auto device = std::make_shared<std::string>();
  CLI::App* worker = app.add_subcommand("worker", "Measure the points named on standard input");
  worker->group("");  // hidden: `run` starts it
  worker->add_option("--device", *device)->required();
  worker->add_flag("--quick", measure->quick);
  measure->add_to(*worker);
  auto node = std::make_shared<RunOptions>();
  worker->add_option("--gpus", node->gpus)->delimiter(',');
  worker->add_option("--visible", node->visible_gpus)->delimiter(',');
  worker->add_flag("--alone", node->alone);
  worker->add_option("--storage-descriptor", node->storage_descriptor);
  set_action(worker, action, [measure, device, node, &program] {
    // Otherwise the name would be that of /proc/self/exe.
    ::prctl(PR_SET_NAME, "peakline-worker");
    RunOptions options = measure->run_options();
    options.gpus = node->gpus;
    options.visible_gpus = node->visible_gpus;
    options.alone = node->alone;
    options.storage_descriptor = node->storage_descriptor;
    return run_worker(*device, options, program.catalog, kWorkerInput, kWorkerOutput);
  });
}

}  // namespace peakline::bench
