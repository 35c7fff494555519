#include "harness/run/worker.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "harness/benchmark/device.hpp"
#include "harness/benchmark/google_benchmark.hpp"
#include "harness/host/facts.hpp"
#include "harness/profile/profile.hpp"

namespace peakline::bench {
namespace {

void write_line(int fd, const std::string& line) {
  const std::string text = line + "\n";
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t n = write(fd, text.data() + sent, text.size() - sent);
    if (n <= 0) throw std::runtime_error("the coordinator is gone");
    sent += static_cast<std::size_t>(n);
  }
}

}  // namespace

int run_worker(const std::string& device_name, const RunOptions& options, Catalog catalog,
               int in_fd, int out_fd) {
  std::unique_ptr<Device> device;
  DeviceFacts facts;
  try {
    device = open_device(device_name, options);
    facts = device->facts();
  } catch (const std::exception& error) {
    facts.uuid = device_name;
    facts.unusable = error.what();
  }
  write_line(out_fd, to_json_line(facts));
  if (!facts.unusable.empty()) return kWorkerDeviceLost;

  Registry registry;
  catalog(registry, host::usable_threads(), options.soak_s);
  const auto measure = [&](const std::string& name) {
    const Entry entry = registry.find(name);
    if (entry.benchmark != nullptr)
      return run_entered(name, [&] { return device->measure(entry); });
    Measurement unknown;
    unknown.id = name;
    unknown.device = device_name;
    unknown.status = Status::kError;
    unknown.reason = "no such benchmark";
    return unknown;
  };

  std::FILE* const in = fdopen(in_fd, "r");
  if (in == nullptr) throw std::runtime_error("worker: cannot read its input");
  int code = 0;
  char* line = nullptr;
  std::size_t room = 0;
  for (ssize_t length; code == 0 && (length = getline(&line, &room, in)) > 0;) {
    std::string name(line, static_cast<std::size_t>(length));
    if (name.back() == '\n') name.pop_back();
    const Measurement record = measure(name);
    write_line(out_fd, to_json_line(record));
    if (record.status == Status::kError && device->lost()) code = kWorkerDeviceLost;
  }
  std::free(line);
  std::fclose(in);
  return code;
}

}  // namespace peakline::bench
