// Textures and surfaces by their handles.

__device__ __noinline__ unsigned fetched(cudaTextureObject_t texture, int i) { return tex1Dfetch<unsigned>(texture, i); }

extern "C" __global__ void fetch(unsigned *p, cudaTextureObject_t texture) {
    p[64 + threadIdx.x] = p[32 + threadIdx.x] + fetched(texture, 31 - threadIdx.x);
}

extern "C" __global__ void fetch_twice(unsigned *p, cudaTextureObject_t texture) {
    p[64 + threadIdx.x] = fetched(texture, threadIdx.x) * 3 + fetched(texture, threadIdx.x ^ 4);
}
