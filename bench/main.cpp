#include "bench/catalog.hpp"
#include "harness/cli/command_line.hpp"
#include "harness/run/build_facts.hpp"

int main(int argc, char** argv) {
  using namespace peakline::bench;
  Program program{.catalog = register_all, .build = build_facts()};
#ifdef PEAKLINE_HAS_CUDA
  program.build.cublaslt = cublaslt_version();
#endif
  return run_command_line(argc, argv, program);
}
