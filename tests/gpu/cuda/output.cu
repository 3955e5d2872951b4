// printf and assert.

#include <assert.h>
#include <stdio.h>

__device__ __noinline__ void say(const char *who, unsigned number) { printf("%s says %u\n", who, number); }

extern "C" __global__ void print(unsigned *p) {
    if (threadIdx.x < 3) say("print", p[threadIdx.x]);
    p[threadIdx.x] += 1;
}

extern "C" __global__ void print_more(unsigned *p) {
    if (threadIdx.x == 1) {
        say("print_more", threadIdx.x);
        p[0] = printf("%s %d %lld %5.2f %c%%\n", "several", -3, 1ll << 40, p[2] / 8.0, 'x');
    }
}

extern "C" __global__ void check(unsigned *p) {
    assert(p[threadIdx.x] > 10 && "numbers start at 11");
    p[threadIdx.x] *= 2;
}

extern "C" __global__ void fail(unsigned *p) {
    assert(p[threadIdx.x] < 500 && "all numbers are small");
    p[threadIdx.x] *= 3;
}
