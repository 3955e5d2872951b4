// Tensor cores: `mma.sync`, and the `wmma` instructions where the compiler has a name for them.

#ifndef __clang__
#include <mma.h>
#endif

__device__ __noinline__ unsigned halves(unsigned x) { return 0x3c003800u + (x & 0x00ff00ffu); }

__device__ __forceinline__ void multiply(float d[4], const unsigned a[4], const unsigned b[2], const float c[4]) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
}

extern "C" __global__ void multiply_halves(unsigned *p) {
    unsigned x = p[threadIdx.x];
    unsigned a[4] = {halves(x), halves(x + 1), halves(x * 3), halves(~x)}, b[2] = {halves(x * 5), halves(x * 7)};
    float c[4] = {1.0f, 2.0f, 0.5f, (float)x}, d[4];
    multiply(d, a, b, c);
    multiply(d, a, b, d);
    p[threadIdx.x] = __float_as_int(d[0] + d[1]) ^ __float_as_int(d[2] * d[3]);
}

extern "C" __global__ void multiply_bytes(unsigned *p) {
    unsigned x = p[threadIdx.x] * 0x01010101u;
    int d[4] = {0, 1, 2, (int)threadIdx.x};
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(x), "r"(~x), "r"(x ^ 0x10203040u));
    p[threadIdx.x] = d[0] ^ d[1] * 3 ^ d[2] * 5 ^ d[3] * 7;
}

extern "C" __global__ void multiply_tiles(unsigned *p) {
    __shared__ unsigned tile[128];
    __shared__ float result[256];
    for (int i = 0; i < 4; i++) tile[threadIdx.x + 32 * i] = halves(p[threadIdx.x] + i);
    __syncthreads();
#ifdef __clang__
    int a[8], b[8];
    float c[8] = {1, 1, 1, 1, 1, 1, 1, 1}, d[8];
    __hmma_m16n16k16_ld_a(a, (const int *)tile, 16, 0);
    __hmma_m16n16k16_ld_b(b, (const int *)tile, 16, 1);
    __hmma_m16n16k16_mma_f32f32(d, a, b, c, 1, 0);
    __hmma_m16n16k16_st_c_f32(result, d, 16, 0);
#else
    using namespace nvcuda;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
    wmma::fill_fragment(c, 1.0f);
    wmma::load_matrix_sync(a, reinterpret_cast<const __half *>(tile), 16);
    wmma::load_matrix_sync(b, reinterpret_cast<const __half *>(tile), 16);
    wmma::mma_sync(c, a, b, c);
    wmma::store_matrix_sync(result, c, 16, wmma::mem_row_major);
#endif
    __syncthreads();
    unsigned r = 0;
    for (int i = 0; i < 8; i++) r = r * 31 + __float_as_int(result[threadIdx.x + 32 * i]);
    p[threadIdx.x] = r;
}
