// Launch bounds, with indirect calls too, and parameters by value.

struct Settings {
    unsigned scale, offsets[5];
    double factor;
};

typedef unsigned (*Step)(unsigned, unsigned);

__device__ __noinline__ unsigned mixed(unsigned a, unsigned b) {
    unsigned v[24];
    for (int i = 0; i < 24; i++) v[i] = a * (i + 1) + (b ^ i);
    for (int round = 0; round < 6; round++)
        for (int i = 0; i < 24; i++) v[i] = v[i] * v[(i + 7) % 24] + v[(i + 11) % 24] / (b + 1 + i);
    unsigned sum = 0;
    for (int i = 0; i < 24; i++) sum ^= v[i];
    return sum;
}

__device__ unsigned added(unsigned a, unsigned b) { return a + b; }

__device__ Step steps[2] = {mixed, added};

extern "C" __global__ void __launch_bounds__(1024, 1) bounded(unsigned *p) {
    p[threadIdx.x] = steps[p[threadIdx.x] & 1](p[threadIdx.x], threadIdx.x);
}

extern "C" __global__ void __launch_bounds__(256, 4) bounded_more(unsigned *p) {
    p[threadIdx.x] = mixed(p[threadIdx.x], threadIdx.x) + steps[threadIdx.x & 1](3, p[threadIdx.x]);
}

extern "C" __global__ void __launch_bounds__(64) bounded_directly(unsigned *p) {
    p[threadIdx.x] = mixed(p[threadIdx.x], threadIdx.x | 1);
}

__device__ __noinline__ unsigned applied(const Settings &s, unsigned x) {
    return x * s.scale + s.offsets[x % 5] + (unsigned)(s.factor * x);
}

extern "C" __global__ void by_value(unsigned *p, Settings s) { p[threadIdx.x] = applied(s, p[threadIdx.x]); }

extern "C" __global__ void by_value_and_changed(unsigned *p, Settings s) {
    s.offsets[threadIdx.x % 5] += p[threadIdx.x];
    s.scale ^= threadIdx.x;
    p[threadIdx.x] = applied(s, threadIdx.x);
}

extern "C" __global__ void grid_constant(unsigned *p, const __grid_constant__ Settings s) {
    p[threadIdx.x] = applied(s, p[threadIdx.x]) * 3;
}
