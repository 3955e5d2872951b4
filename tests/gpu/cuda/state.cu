// Variables that one kernel writes and another reads, atomics among them, and pointers to variables.

struct Links {
    unsigned *counter;
    const unsigned *seeds;
    unsigned weight;
};

__device__ unsigned counter = 100;
__device__ unsigned history[32];
__device__ float total = 0.5f;
__device__ unsigned long long largest;
static __device__ unsigned hidden = 7;
__device__ const unsigned seeds[4] = {3, 1, 4, 1};
__device__ Links links = {&counter, seeds, 9};
#ifndef __clang__
__managed__ unsigned managed = 21;
#endif

__device__ __noinline__ unsigned calls() {
    static unsigned number = 1000;
    return atomicAdd(&number, 1u);
}

extern "C" __global__ void count(unsigned *p) {
    atomicAdd(&counter, p[threadIdx.x]);
    atomicMax(&largest, (unsigned long long)p[threadIdx.x] << 34);
    if (threadIdx.x == 0) p[0] = calls();
}

extern "C" __global__ void count_backwards(unsigned *p) {
    atomicSub(&counter, p[threadIdx.x] / 3);
    atomicXor(&hidden, p[threadIdx.x]);
    atomicAdd(&total, 0.25f * (threadIdx.x & 3));
    if (threadIdx.x == 0) p[0] = calls() + calls();
}

extern "C" __global__ void remember(unsigned *p) {
    unsigned old = atomicCAS(&history[threadIdx.x], 0u, counter + threadIdx.x);
    p[threadIdx.x] = old + hidden;
#ifndef __clang__
    if (threadIdx.x == 0) managed += old + 5;
#endif
}

extern "C" __global__ void recall(unsigned *p) {
    p[threadIdx.x] = history[threadIdx.x] * 3 + hidden + (unsigned)(total * 4) + (unsigned)(largest >> 32);
#ifndef __clang__
    p[threadIdx.x] += managed;
#endif
}

extern "C" __global__ void follow(unsigned *p) {
    p[threadIdx.x] = *links.counter + links.seeds[threadIdx.x & 3] * links.weight;
    __syncthreads();
    if (threadIdx.x == 0) links.weight += 2;
}

extern "C" __global__ void hide(unsigned *p) {
    if (threadIdx.x == 0) hidden = p[3] * 3;
}
