// Virtual functions of objects that another kernel made, and tables of function pointers.

#include <new>

struct Shape {
    unsigned size;
    __device__ explicit Shape(unsigned size) : size(size) {}
    __device__ virtual unsigned area(unsigned x) const { return size + x; }
    __device__ virtual unsigned corners() const { return 0; }
};

struct Square : Shape {
    __device__ explicit Square(unsigned size) : Shape(size) {}
    __device__ unsigned area(unsigned x) const override { return size * size + x; }
    __device__ unsigned corners() const override { return 4; }
};

struct Triangle : Shape {
    __device__ explicit Triangle(unsigned size) : Shape(size) {}
    __device__ unsigned area(unsigned x) const override { return size * x / 2; }
    __device__ unsigned corners() const override { return 3; }
};

typedef unsigned (*Operation)(unsigned);

__device__ unsigned doubled(unsigned x) { return 2 * x; }
__device__ unsigned squared(unsigned x) { return x * x; }
__device__ unsigned inverted(unsigned x) { return ~x; }

__device__ Shape *shapes[3];
__device__ Operation operations[3] = {doubled, squared, doubled};
__constant__ Operation fixed_operations[3] = {squared, inverted, doubled};

extern "C" __global__ void make_shapes(unsigned *p) {
    if (threadIdx.x == 0) {
        shapes[0] = new (malloc(sizeof(Square))) Square(p[0]);
        shapes[1] = new (malloc(sizeof(Triangle))) Triangle(p[1]);
        shapes[2] = new (malloc(sizeof(Shape))) Shape(p[2]);
    }
}

extern "C" __global__ void use_shapes(unsigned *p) {
    const Shape *shape = shapes[threadIdx.x % 3];
    p[threadIdx.x] = shape->area(p[threadIdx.x]) * 10 + shape->corners();
}

extern "C" __global__ void use_own_shapes(unsigned *p) {
    Square square(p[threadIdx.x]);
    Triangle triangle(p[threadIdx.x]);
    const Shape *shape = threadIdx.x & 1 ? static_cast<const Shape *>(&square) : &triangle;
    p[threadIdx.x] = shape->area(threadIdx.x) + shape->corners();
}

extern "C" __global__ void free_shapes(unsigned *p) {
    if (threadIdx.x < 3) {
        p[threadIdx.x] = shapes[threadIdx.x]->corners();
        free(shapes[threadIdx.x]);
    }
}

extern "C" __global__ void change_operations(unsigned *p) {
    if (threadIdx.x == 0) operations[2] = inverted;
}

extern "C" __global__ void operate(unsigned *p) {
    p[threadIdx.x] = operations[threadIdx.x % 3](p[threadIdx.x]) + fixed_operations[(threadIdx.x + 1) % 3](threadIdx.x);
}

extern "C" __global__ void call_directly(unsigned *p) { p[threadIdx.x] = squared(p[threadIdx.x]) + doubled(3); }
