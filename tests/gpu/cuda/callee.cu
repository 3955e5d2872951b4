// See caller.cu.

extern __device__ unsigned of_caller;
extern __device__ unsigned shifted(unsigned x);
__device__ unsigned of_callee[4] = {1, 2, 3, 4};
static __device__ __noinline__ unsigned same_name(unsigned x) { return x * 3; }
__device__ __noinline__ unsigned scaled(unsigned x) { return same_name(x) * of_callee[x & 3]; }

extern "C" __global__ void call_back(unsigned *p) { p[threadIdx.x] = shifted(p[threadIdx.x]) + scaled(threadIdx.x); }

extern "C" __global__ void write_of_caller(unsigned *p) {
    if (threadIdx.x == 0) of_caller = p[0] % 7;
}
