// nvcc -arch=sm_80 -lineinfo -ptx inlined.cu
__device__ __forceinline__ int square(int a) { return a * a + 1; }
__device__ __forceinline__ int cube(int a) { return square(a) * a; }
__device__ __forceinline__ int negated(int a) { return ~a; }
__device__ __noinline__ int called(int a) { return square(a) + 3; }
__global__ void first(int *p) { *p = cube(p[0]) + negated(p[1]); }
__global__ void second(int *p) { p[3] = negated(p[1]) * called(p[2]); }
__global__ void third(int *p) { p[3] = square(p[5]) + called(p[7]); }
__global__ void plain(int *p) { p[3] = 7; }
