// See parent.cu.

__device__ unsigned launches;

extern "C" __global__ void child(unsigned *p, unsigned factor) {
    p[threadIdx.x] *= factor;
    if (threadIdx.x == 0) atomicAdd(&launches, 1u);
}

extern "C" __global__ void grandchild(unsigned *p) {
    p[threadIdx.x] += 1;
    __syncthreads();
    if (threadIdx.x == 0) child<<<1, 32>>>(p, 2);
}
