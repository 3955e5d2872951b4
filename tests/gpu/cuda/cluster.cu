// Clusters of blocks. clang 22 ignores `__cluster_dims__`.

__device__ __noinline__ unsigned of_neighbour(const unsigned *tile, unsigned i) {
    unsigned address = (unsigned)__cvta_generic_to_shared(tile + i), rank, remote, value;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(address), "r"(rank ^ 1));
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(remote) : "memory");
    return value;
}

__device__ __forceinline__ void wait_for_cluster() {
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(32) swap_in_cluster(unsigned *p) {
    __shared__ unsigned tile[32];
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = p[i];
    wait_for_cluster();
    unsigned v = of_neighbour(tile, threadIdx.x);
    wait_for_cluster();
    p[i] = v;
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(32) reverse_in_cluster(unsigned *p) {
    __shared__ unsigned tile[32];
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = p[i] * 3;
    wait_for_cluster();
    unsigned v = of_neighbour(tile, 31 - threadIdx.x);
    wait_for_cluster();
    p[i] = v;
}
