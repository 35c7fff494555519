#pragma once

// A part of a GPU's SMs, by the driver's green contexts.

#include <cuda_runtime_api.h>

#include <memory>
#include <stdexcept>

namespace peakline::cuda {

// The message says why a device or driver cannot be partitioned.
struct NotPartitioned : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Streams whose kernels run on these SMs of the current device alone. Others may use them too.
class SmPartition {
 public:
  // sms: at least so many; the driver rounds up to what keeps clusters together (8 on 9.0). Throws
  // NotPartitioned, also before driver 12.5 and for more SMs than there are.
  explicit SmPartition(unsigned sms);
  ~SmPartition();
  SmPartition(const SmPartition&) = delete;
  SmPartition& operator=(const SmPartition&) = delete;

  unsigned sms() const { return sms_; }
  cudaStream_t stream() const { return stream_; }

 private:
  unsigned sms_ = 0;
  std::shared_ptr<void> context_;
  cudaStream_t stream_ = nullptr;
};

}  // namespace peakline::cuda
