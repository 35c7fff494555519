#include "harness/run/worker.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <string>
#include <utility>
#include <vector>

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
  CatalogInput input{.threads = host::usable_threads(), .soak_s = options.soak_s};
  if (!options.gpus.empty()) input.gpus = options.gpus;
  catalog(registry, input);
  const auto is_here = [&](int gpu) {
    return std::ranges::find(options.visible_gpus, gpu) != options.visible_gpus.end();
  };
  const auto round_of = [&](const Entry& entry) {
    std::vector<Entry> members = registry.round_of(entry);
    std::erase_if(members, [&](const Entry& member) {
      return member.point != entry.point && !std::ranges::all_of(member.point->gpus, is_here);
    });
    return members;
  };
  std::map<std::string, Measurement> ready;  // of rounds
  const auto measure = [&](const std::string& name) {
    if (auto made = ready.extract(name)) return std::move(made.mapped());
    const Entry entry = registry.find(name);
    if (entry.benchmark != nullptr) {
      return run_entered(name, [&] {
        const std::vector<Entry> round = options.alone ? std::vector{entry} : round_of(entry);
        std::vector<Measurement> records = device->measure(round);
        for (std::size_t i = 1; i < records.size(); ++i)
          ready[records[i].name()] = std::move(records[i]);
        return std::move(records.front());
      });
    }
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
