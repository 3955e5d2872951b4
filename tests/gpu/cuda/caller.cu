// A module that takes functions and variables from another one (callee.cu).

extern __device__ unsigned of_callee[4];
extern __device__ unsigned scaled(unsigned x);
__device__ unsigned of_caller = 5;
__device__ unsigned shifted(unsigned x) { return x << of_caller; }
static __device__ __noinline__ unsigned same_name(unsigned x) { return x + 1; }

extern "C" __global__ void call_scaled(unsigned *p) { p[threadIdx.x] = scaled(p[threadIdx.x]) + same_name(threadIdx.x); }

extern "C" __global__ void write_of_callee(unsigned *p) {
    if (threadIdx.x < 4) of_callee[threadIdx.x] += p[threadIdx.x];
}

extern "C" __global__ void call_shifted(unsigned *p) { p[threadIdx.x] = shifted(p[threadIdx.x]); }
