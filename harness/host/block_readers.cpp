#include <liburing.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "harness/host/storage.hpp"

namespace peakline::host {
namespace {

StorageError failed(int error) {
  return StorageError(std::string("a read failed: ") + std::strerror(error));
}

struct Blocks {
  const StorageFile& file;
  std::size_t bytes;  // per block
  std::vector<BlockBuffer> buffers;

  Blocks(const StorageFile& of, std::size_t block_bytes, int depth) : file(of), bytes(block_bytes) {
    for (int i = 0; i < depth; ++i) buffers.emplace_back(block_bytes);
  }
  std::uint64_t offset_of(std::uint64_t block) const { return block * bytes; }
};

class UringReader : public BlockReader {
 public:
  UringReader(const StorageFile& file, std::size_t block_bytes, int depth)
      : blocks_(file, block_bytes, depth), under_way_(static_cast<std::size_t>(depth)) {
    // From Linux 6.1 on, handles completions in the thread that waits, as fio does: small reads
    // cost less CPU. One thread must create and use the ring.
    constexpr unsigned kLight = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;
    for (const unsigned flags : {kLight, 0u}) {
      refused_ = ::io_uring_queue_init(static_cast<unsigned>(depth), &ring_, flags);
      if (refused_ == 0) break;
    }
  }
  ~UringReader() override {
    if (refused_ == 0) ::io_uring_queue_exit(&ring_);
  }
  UringReader(const UringReader&) = delete;
  UringReader& operator=(const UringReader&) = delete;
  bool refused() const { return refused_ != 0; }

  void read(std::uint64_t first, std::uint64_t count, const PlaceOf& place_of,
            const Seen& seen) override {
    std::uint64_t next = 0;
    int error = 0;
    const auto start = [&](std::size_t slot) {
      under_way_[slot] = {.block = place_of(first + next++), .done = 0};
      submit(slot);
    };
    for (std::size_t slot = 0; slot < under_way_.size() && next < count; ++slot) start(slot);
    // Also after errors: reads in flight still write to the buffers.
    while (submitted_ > 0) {
      if (const int code = ::io_uring_submit_and_wait(&ring_, 1); code < 0 && code != -EINTR)
        throw failed(-code);
      ::io_uring_cqe* completion = nullptr;
      while (::io_uring_peek_cqe(&ring_, &completion) == 0) {
        const auto slot = static_cast<std::size_t>(::io_uring_cqe_get_data64(completion));
        const int code = completion->res;
        ::io_uring_cqe_seen(&ring_, completion);
        --submitted_;
        if (code <= 0) error = code == 0 ? EIO : -code;
        if (error != 0) continue;
        UnderWay& one = under_way_[slot];
        one.done += static_cast<std::size_t>(code);
        if (one.done < blocks_.bytes) {  // a short read
          submit(slot);
          continue;
        }
        if (seen) seen(one.block, blocks_.buffers[slot].data());
        if (next < count) start(slot);
      }
    }
    if (error != 0) throw failed(error);
  }
  std::string engine() const override { return "io_uring"; }

 private:
  struct UnderWay {
    std::uint64_t block = 0;
    std::size_t done = 0;  // bytes
  };

  // Each slot has a free entry in the queue.
  void submit(std::size_t slot) {
    ::io_uring_sqe* const entry = ::io_uring_get_sqe(&ring_);
    const UnderWay& one = under_way_[slot];
    ::io_uring_prep_read(entry, blocks_.file.descriptor(), blocks_.buffers[slot].data() + one.done,
                         static_cast<unsigned>(blocks_.bytes - one.done),
                         blocks_.offset_of(one.block) + one.done);
    ::io_uring_sqe_set_data64(entry, slot);
    ++submitted_;
  }

  Blocks blocks_;
  std::vector<UnderWay> under_way_;
  std::size_t submitted_ = 0;  // reads in flight
  ::io_uring ring_{};
  int refused_ = 0;
};

class ThreadReader : public BlockReader {
 public:
  ThreadReader(const StorageFile& file, std::size_t block_bytes, int depth)
      : blocks_(file, block_bytes, depth) {}

  void read(std::uint64_t first, std::uint64_t count, const PlaceOf& place_of,
            const Seen& seen) override {
    std::atomic<std::uint64_t> next{0};
    std::atomic<int> error{0};
    std::mutex one_at_a_time;
    const auto work = [&](std::byte* buffer) {
      for (std::uint64_t i = next++; i < count && error == 0; i = next++) {
        const std::uint64_t block = place_of(first + i);
        const std::uint64_t offset = blocks_.offset_of(block);
        if (const int code = blocks_.file.read(offset, blocks_.bytes, buffer); code != 0)
          error = code;
        if (!seen || error != 0) continue;
        const std::lock_guard lock(one_at_a_time);
        seen(block, buffer);
      }
    };
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < blocks_.buffers.size(); ++i)
      threads.emplace_back(work, blocks_.buffers[i].data());
    work(blocks_.buffers.front().data());
    threads.clear();
    if (error != 0) throw failed(error);
  }
  std::string engine() const override { return "threads"; }

 private:
  Blocks blocks_;
};

}  // namespace

std::unique_ptr<BlockReader> make_uring_reader(const StorageFile& file, std::size_t block_bytes,
                                               int depth) {
  auto reader = std::make_unique<UringReader>(file, block_bytes, depth);
  if (reader->refused()) return nullptr;
  return reader;
}

std::unique_ptr<BlockReader> make_thread_reader(const StorageFile& file, std::size_t block_bytes,
                                                int depth) {
  return std::make_unique<ThreadReader>(file, block_bytes, depth);
}

std::unique_ptr<BlockReader> make_block_reader(const StorageFile& file, std::size_t block_bytes,
                                               int depth) {
  if (auto reader = make_uring_reader(file, block_bytes, depth)) return reader;
  return make_thread_reader(file, block_bytes, depth);
}

}  // namespace peakline::host
