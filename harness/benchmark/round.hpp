#pragma once

// Points measured concurrently, each by its own thread.

#include <atomic>
#include <barrier>
#include <cstddef>
#include <functional>
#include <utility>

namespace peakline::bench {

class Round {
 public:
  explicit Round(std::size_t members)
      : ready_(static_cast<std::ptrdiff_t>(members)), working_(members) {}

 private:
  friend class RoundMember;
  std::barrier<> ready_;
  std::atomic<std::size_t> working_;
  std::atomic<bool> whole_ = true;  // nobody ended before it began
};

// One member: its measurement counts only while all work. Nobody waits for members that end early.
class RoundMember {
 public:
  // nullptr: no round.
  explicit RoundMember(Round* round) : round_(round) {}
  ~RoundMember() {
    if (round_ == nullptr || ended_) return;
    if (!begun_) {
      round_->whole_ = false;
      round_->ready_.arrive_and_drop();
    }
    --round_->working_;
  }
  RoundMember(const RoundMember&) = delete;
  RoundMember& operator=(const RoundMember&) = delete;

  bool has_others() const { return round_ != nullptr; }
  // Waits until every member is about to be timed. False without a round, or if one has ended.
  bool begin() {
    if (round_ == nullptr) return false;
    if (!std::exchange(begun_, true)) round_->ready_.arrive_and_wait();
    return round_->whole_;
  }
  // Repeats `work`, untimed, until every member has been timed.
  void end(const std::function<void()>& work) {
    if (round_ == nullptr || ended_) return;
    ended_ = true;
    for (--round_->working_; round_->working_ > 0;) work();
  }

 private:
  Round* round_;
  bool begun_ = false, ended_ = false;
};

}  // namespace peakline::bench
