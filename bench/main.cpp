#include "bench/catalog.hpp"
#include "harness/cli/command_line.hpp"

int main(int argc, char** argv) {
  using namespace peakline::bench;
  Program program{.catalog = register_all, .topics = topic_words()};
#ifdef PEAKLINE_HAS_CUDA
  program.cublaslt_version = cublaslt_version;
#endif
  return run_command_line(argc, argv, program);
}
