// Warp intrinsics, with member masks that are constants and masks that are not.

#define ALL 0xffffffffu

__device__ unsigned lane() { return threadIdx.x & 31; }

__device__ __noinline__ unsigned rotated(unsigned mask, unsigned value, unsigned by) {
    return __shfl_sync(mask, value, (lane() + by) & 31);
}

extern "C" __global__ void shuffle_all(unsigned *p) {
    unsigned v = p[threadIdx.x];
    v += __shfl_up_sync(ALL, v, 3);
    v ^= __shfl_down_sync(ALL, v, 5);
    v += 3 * __shfl_xor_sync(ALL, v, 9, 16);
    p[threadIdx.x] = rotated(ALL, v, 7);
}

extern "C" __global__ void shuffle_some(unsigned *p) {
    unsigned v = p[threadIdx.x];
    unsigned mask = __ballot_sync(ALL, v & 2);
    if (v & 2) {
        v += __shfl_sync(mask, v, __ffs(mask) - 1);
        v = 5 * __shfl_xor_sync(mask, v, 0) + rotated(mask, v, 0);
        double d = __shfl_sync(mask, 1.0 / v, 31 - __clz(mask));
        v ^= __double2hiint(d);
    }
    p[threadIdx.x] = v;
}

extern "C" __global__ void vote_all(unsigned *p) {
    unsigned v = p[threadIdx.x];
    unsigned ballot = __ballot_sync(ALL, v % 3 == 0);
    p[threadIdx.x] = ballot + (__all_sync(ALL, v) << 1) + (__any_sync(ALL, v == 11) << 2) + __popc(__activemask());
}

extern "C" __global__ void vote_some(unsigned *p) {
    unsigned v = p[threadIdx.x];
    unsigned mask = 0x5555u << (threadIdx.x & 1);
    if (lane() < 16) {
        v = __ballot_sync(mask, v % 5 == 1) * 7 + __all_sync(mask, v & 1) + 2 * __any_sync(mask, v % 7 == 0);
        __syncwarp(mask);
    }
    p[threadIdx.x] = v;
}

extern "C" __global__ void match(unsigned *p) {
    unsigned v = p[threadIdx.x] % 6;
    unsigned same = __match_any_sync(ALL, v);
    int equal;
    unsigned all = __match_all_sync(same, v, &equal);
    unsigned wide = __match_any_sync(ALL, (unsigned long long)v << 33);
    p[threadIdx.x] = same + 3 * all + equal + (wide == same);
}

extern "C" __global__ void reduce(unsigned *p) {
    unsigned v = p[threadIdx.x];
    unsigned same = __match_any_sync(ALL, v & 3);
    unsigned r = __reduce_add_sync(same, v) + __reduce_max_sync(same, v) * 3 + __reduce_min_sync(same, v) * 5;
    p[threadIdx.x] = r ^ __reduce_xor_sync(ALL, v) ^ (__reduce_and_sync(same, v | 8) << 7) ^ __reduce_or_sync(same, v);
}
