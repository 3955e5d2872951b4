// Functions that call themselves and each other.

__device__ __noinline__ unsigned fibonacci(unsigned n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

__device__ unsigned is_odd(unsigned n);

__device__ __noinline__ unsigned is_even(unsigned n) { return n == 0 ? 1 : is_odd(n - 1) * 3 + n; }

__device__ __noinline__ unsigned is_odd(unsigned n) { return n == 0 ? 0 : is_even(n - 1) * 5 + 1; }

__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n) {
    if (m == 0) return n + 1;
    return n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

extern "C" __global__ void recurse(unsigned *p) { p[threadIdx.x] = fibonacci(p[threadIdx.x] % 9); }

extern "C" __global__ void recurse_too(unsigned *p) { p[threadIdx.x] = fibonacci(p[threadIdx.x] % 7) * 11 + 2; }

extern "C" __global__ void recurse_mutually(unsigned *p) { p[threadIdx.x] = is_even(p[threadIdx.x] % 8); }

extern "C" __global__ void recurse_mutually_too(unsigned *p) { p[threadIdx.x] = is_odd(p[threadIdx.x] % 6) + 1; }

extern "C" __global__ void recurse_deeply(unsigned *p) {
    p[threadIdx.x] = ackermann(p[threadIdx.x] % 2, p[threadIdx.x] % 5) + fibonacci(3);
}
