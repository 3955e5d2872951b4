// Constant tables in several kernels, lookup tables and jump tables of switches, and strings.

__constant__ unsigned primes[8] = {2, 3, 5, 7, 11, 13, 17, 19};
__constant__ float factors[4] = {0.5f, 1.5f, 2.5f, 3.5f};
static __constant__ unsigned squares[16] = {0, 1, 4, 9, 16, 25, 36, 49, 64, 81, 100, 121, 144, 169, 196, 225};
__constant__ unsigned set_by_host[4];

__device__ __noinline__ unsigned chosen(unsigned which, unsigned x) {
    switch (which) {
        case 0: return x * x + 1;
        case 1: return x / 3;
        case 2: return x ^ 0x55;
        case 3: return __popc(x) * 7;
        case 4: return x << 5;
        case 5: return __brev(x);
        case 6: return x % 11;
        case 7: return squares[x & 15];
        case 8: return primes[x & 7] - x;
        default: return x + which;
    }
}

__device__ __noinline__ unsigned letter(unsigned i) {
    const char *text = "the quick brown fox jumps over the lazy dog";
    return text[i % 43];
}

extern "C" __global__ void look_up(unsigned *p) { p[threadIdx.x] = primes[p[threadIdx.x] & 7] * 3; }

extern "C" __global__ void look_up_too(unsigned *p) {
    p[threadIdx.x] = (unsigned)(factors[p[threadIdx.x] & 3] * 10) + primes[threadIdx.x & 7];
}

extern "C" __global__ void look_up_squares(unsigned *p) { p[threadIdx.x] = squares[p[threadIdx.x] & 15] + 1; }

extern "C" __global__ void look_up_what_the_host_set(unsigned *p) {
    p[threadIdx.x] = set_by_host[threadIdx.x & 3] + squares[threadIdx.x & 15];
}

extern "C" __global__ void choose(unsigned *p) { p[threadIdx.x] = chosen(threadIdx.x % 11, p[threadIdx.x]); }

extern "C" __global__ void choose_twice(unsigned *p) {
    p[threadIdx.x] = chosen(p[threadIdx.x] % 10, threadIdx.x) + chosen(threadIdx.x % 3, 5);
}

extern "C" __global__ void spell(unsigned *p) { p[threadIdx.x] = letter(p[threadIdx.x]); }

extern "C" __global__ void spell_too(unsigned *p) { p[threadIdx.x] = letter(threadIdx.x) << 8 | "abcdefgh"[p[threadIdx.x] & 7]; }
