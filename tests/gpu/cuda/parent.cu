// Kernels that launch kernels, one of them of another module (child.cu).

extern "C" __global__ void child(unsigned *p, unsigned factor);

extern "C" __global__ void sibling(unsigned *p) { p[threadIdx.x] ^= 0x5a; }

extern "C" __global__ void launch_child(unsigned *p) {
    if (threadIdx.x == 0) child<<<1, 32>>>(p, 3);
}

extern "C" __global__ void launch_sibling(unsigned *p) {
    if (threadIdx.x == 0) sibling<<<1, 16>>>(p);
}

extern "C" __global__ void launch_nothing(unsigned *p) { p[threadIdx.x] += 4; }
