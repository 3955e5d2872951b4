// Shared memory, static and dynamic, of several alignments; also in functions that several kernels reach.

struct alignas(16) Pair {
    unsigned first, second[3];
};

extern __shared__ unsigned words[];
extern __shared__ __align__(128) unsigned char bytes[];
extern __shared__ __align__(8) double doubles[];

__shared__ unsigned common_tile[64];

__device__ __noinline__ unsigned exchanged(unsigned value) {
    __shared__ Pair tile[64];
    unsigned t = threadIdx.x;
    tile[t].second[1] = value;
    __syncthreads();
    unsigned other = tile[t ^ 5].second[1];
    __syncthreads();
    return other;
}

extern "C" __global__ void exchange(unsigned *p) { p[threadIdx.x] = exchanged(p[threadIdx.x]) + 1; }

extern "C" __global__ void exchange_twice(unsigned *p) {
    __shared__ unsigned own[64];
    unsigned t = threadIdx.x;
    own[t] = exchanged(p[t]);
    __syncthreads();
    p[t] = exchanged(own[(t + 1) % blockDim.x] * 3);
}

extern "C" __global__ void reverse_words(unsigned *p) {
    unsigned t = threadIdx.x;
    words[t] = p[t];
    common_tile[t] = p[t] * 3;
    __syncthreads();
    p[t] = words[blockDim.x - 1 - t] + common_tile[t ^ 1];
}

extern "C" __global__ void reverse_bytes(unsigned *p) {
    unsigned t = threadIdx.x;
    bytes[t] = (unsigned char)p[t];
    common_tile[t] = p[t] * 5;
    __syncthreads();
    unsigned alignment = (unsigned)__cvta_generic_to_shared(bytes) & 127;
    p[t] = bytes[blockDim.x - 1 - t] + common_tile[t ^ 2] + (alignment << 24);
}

extern "C" __global__ void reverse_doubles(unsigned *p) {
    unsigned t = threadIdx.x;
    doubles[t] = p[t] * 0.5;
    __syncthreads();
    p[t] = (unsigned)(doubles[blockDim.x - 1 - t] * 10.0) + ((unsigned)__cvta_generic_to_shared(doubles) & 7);
}

extern "C" __global__ void add_in_shared_memory(unsigned *p) {
    __shared__ unsigned sum, largest;
    unsigned t = threadIdx.x;
    if (t == 0) {
        sum = 0;
        largest = 0;
    }
    __syncthreads();
    atomicAdd(&sum, p[t]);
    atomicMax(&largest, p[t] * 7 % 101);
    __syncthreads();
    p[t] = sum * 3 + largest;
}
