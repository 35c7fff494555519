#include "harness/run/worker.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "harness/benchmark/device.hpp"
#include "harness/benchmark/google_benchmark.hpp"
#include "harness/host/facts.hpp"
#include "harness/profile/profile.hpp"
#include "harness/run/plan.hpp"

namespace peakline::bench {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RunOptions, quick, max_noise, min_samples, seed, verify, soak_s,
                                   verified_soak, energy, storage_descriptor, profile, gpus,
                                   visible_gpus, alone)

namespace {

void write_line(int fd, const std::string& line) {
  const std::string text = line + "\n";
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t n = write(fd, text.data() + sent, text.size() - sent);
    if (n <= 0) throw std::runtime_error("the coordinator is gone");
    sent += static_cast<std::size_t>(n);
  }
}

Registry registry_of(Catalog catalog, const RunOptions& options) {
  CatalogInput input{.threads = host::usable_threads(),
                     .soak_s = options.soak_s,
                     .verified_soak_s = options.verified_soak_s(),
                     .energy = options.energy,
                     .storage = options.storage_descriptor >= 0};
  if (!options.gpus.empty()) input.gpus = options.gpus;
  Registry registry;
  catalog(registry, input);
  return registry;
}

class PointsOfDevice {
 public:
  PointsOfDevice(Device& device, const RunOptions& options, const Registry& registry)
      : device_(device), options_(options), registry_(registry) {}

  Measurement measure(const std::string& name) {
    if (auto made = ready_.extract(name)) return std::move(made.mapped());
    const Entry entry = registry_.find(name);
    if (entry.benchmark != nullptr) return run_entered(name, [&] { return measure(entry); });
    Measurement unknown;
    unknown.id = name;
    unknown.device = device_.name();
    unknown.status = Status::kError;
    unknown.reason = "no such benchmark";
    return unknown;
  }

 private:
  // Measures its whole round, whose other records are kept until asked for.
  Measurement measure(const Entry& entry) {
    std::vector<Measurement> records = device_.measure(members_here(entry));
    for (std::size_t i = 1; i < records.size(); ++i)
      ready_[records[i].name()] = std::move(records[i]);
    return std::move(records.front());
  }

  std::vector<Entry> members_here(const Entry& entry) const {
    if (options_.alone) return {entry};
    const auto is_here = [&](int gpu) {
      return std::ranges::find(options_.visible_gpus, gpu) != options_.visible_gpus.end();
    };
    std::vector<Entry> members = registry_.round_of(entry);
    std::erase_if(members, [&](const Entry& member) {
      return member.point != entry.point && !std::ranges::all_of(member.point->gpus, is_here);
    });
    return members;
  }

  Device& device_;
  const RunOptions& options_;
  const Registry& registry_;
  std::map<std::string, Measurement> ready_;
};

// Answers the names read from `in`; returns the exit code.
int answer(Device& device, PointsOfDevice& points, std::FILE* in, int out_fd) {
  int code = 0;
  char* line = nullptr;
  std::size_t room = 0;
  for (ssize_t length; code == 0 && (length = getline(&line, &room, in)) > 0;) {
    std::string name(line, static_cast<std::size_t>(length));
    if (name.back() == '\n') name.pop_back();
    const Measurement record = points.measure(name);
    write_line(out_fd, to_json_line(record));
    if (record.status == Status::kError && device.lost()) code = kWorkerDeviceLost;
  }
  std::free(line);
  return code;
}

}  // namespace

std::string worker_options(const RunOptions& options) { return nlohmann::json(options).dump(); }

RunOptions worker_options_from(const std::string& json) {
  try {
    return nlohmann::json::parse(json).get<RunOptions>();
  } catch (const nlohmann::json::exception&) {
    throw UsageError("worker: expected its options as JSON; `run` starts it");
  }
}

int run_worker(const std::string& device_name, const RunOptions& options, Catalog catalog,
               int in_fd, int out_fd) {
  const Registry registry = registry_of(catalog, options);
  std::unique_ptr<Device> device;
  DeviceFacts facts;
  try {
    // Host-only catalogues, as in tests, have fictitious GPUs.
    device = open_device(device_name, options, !registry.needs_gpu());
    facts = device->facts();
  } catch (const std::exception& error) {
    facts.uuid = device_name;
    facts.unusable = error.what();
  }
  write_line(out_fd, to_json_line(facts));
  if (!facts.unusable.empty()) return kWorkerDeviceLost;

  PointsOfDevice points(*device, options, registry);
  std::FILE* const in = fdopen(in_fd, "r");
  if (in == nullptr) throw std::runtime_error("worker: cannot read its input");
  const int code = answer(*device, points, in, out_fd);
  std::fclose(in);
  return code;
}

}  // namespace peakline::bench
