#include <sys/prctl.h>

#include <memory>
#include <string>

#include "harness/cli/commands.hpp"
#include "harness/run/worker.hpp"
#include "harness/run/worker_process.hpp"

namespace peakline::bench {

void add_worker_command(CLI::App& app, const Program& program, Action& action) {
  auto device = std::make_shared<std::string>(), options = std::make_shared<std::string>();
  CLI::App* worker = app.add_subcommand("worker", "Measure the points named on standard input");
  worker->group("");  // hidden: `run` starts it
  worker->add_option("device", *device)->required();
  worker->add_option("options", *options)->required();
  set_action(worker, action, [device, options, &program] {
    // Otherwise the name would be that of /proc/self/exe.
    ::prctl(PR_SET_NAME, "peakline-worker");
    return run_worker(*device, worker_options_from(*options), program.catalog, kWorkerInput,
                      kWorkerOutput);
  });
}

}  // namespace peakline::bench
