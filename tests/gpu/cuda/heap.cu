// Memory that one kernel allocates and another frees.

__device__ unsigned *blocks[32];

extern "C" __global__ void allocate(unsigned *p) {
    unsigned *block = (unsigned *)malloc(16 + 16 * threadIdx.x);
    block[0] = p[threadIdx.x];
    block[3 + 4 * threadIdx.x] = threadIdx.x * 5;
    blocks[threadIdx.x] = block;
}

extern "C" __global__ void use(unsigned *p) {
    unsigned other = threadIdx.x ^ 1;
    p[threadIdx.x] = blocks[other][0] + blocks[other][3 + 4 * other];
}

extern "C" __global__ void release(unsigned *p) {
    p[threadIdx.x] = blocks[threadIdx.x][0];
    free(blocks[threadIdx.x]);
    blocks[threadIdx.x] = nullptr;
}

extern "C" __global__ void allocate_and_free(unsigned *p) {
    unsigned *block = (unsigned *)malloc(64);
    for (unsigned i = 0; i < 16; i++) block[i] = p[threadIdx.x] * i;
    unsigned sum = 0;
    for (unsigned i = 0; i < 16; i++) sum += block[(i * 7) & 15] * i;
    free(block);
    p[threadIdx.x] = sum + (blocks[threadIdx.x] == nullptr);
}
