// Division and functions whose slow paths are calls.

__device__ __noinline__ unsigned quotient(unsigned a, unsigned b) { return a / b + a % b; }

extern "C" __global__ void divide_integers(unsigned *p) {
    unsigned v = p[threadIdx.x];
    int s = (int)(v * 2654435761u);
    p[threadIdx.x] = quotient(v * 97, threadIdx.x + 3) + s / (int)(v + 1) * 3 + s % (int)(v | 1);
}

extern "C" __global__ void divide_long_integers(unsigned *p) {
    unsigned long long v = p[threadIdx.x] * 0x9e3779b97f4a7c15ull;
    long long s = (long long)v;
    unsigned long long d = p[threadIdx.x] * 1000003ull;
    p[threadIdx.x] = (unsigned)(v / d + v % d) + (unsigned)(s / (long long)d) + quotient((unsigned)v, (unsigned)d);
}

extern "C" __global__ void divide_floats(unsigned *p) {
    float v = (float)p[threadIdx.x];
    // Operands next to the ends of the range take the slow path.
    float tiny = __int_as_float(0x00000100 + threadIdx.x), huge = __int_as_float(0x7f000000 + threadIdx.x);
    float q = v / 3.7f + tiny / (v * 1e-38f) + huge / (v * 1e30f);
    float r = 1.0f / (tiny * v) + sqrtf(v) + sqrtf(tiny) * 1e20f + rsqrtf(v);
    p[threadIdx.x] = __float_as_int(q) ^ __float_as_int(r) * 31;
}

extern "C" __global__ void divide_doubles(unsigned *p) {
    double v = p[threadIdx.x] + 0.3;
    double tiny = __longlong_as_double(0x0000000000010000ll + threadIdx.x);
    double q = 1.0 / v + tiny / (v * 1e-308) + 1e308 / (v * 1e300);
    double r = sqrt(v) + sqrt(tiny) + rsqrt(v) + fmod(1e18, v);
    p[threadIdx.x] = (unsigned)(__double_as_longlong(q) >> 13) ^ (unsigned)(__double_as_longlong(r) >> 11) * 31;
}

extern "C" __global__ void trigonometry_of_floats(unsigned *p) {
    float v = (float)p[threadIdx.x] * 1.1e6f;
    p[threadIdx.x] = __float_as_int(sinf(v)) ^ __float_as_int(cosf(v * 3.1f)) * 3 ^ __float_as_int(tanf(v * 7.3f)) * 5;
}

extern "C" __global__ void trigonometry_of_doubles(unsigned *p) {
    double v = p[threadIdx.x] * 1.1e9, s, c;
    sincos(v, &s, &c);
    long long bits = __double_as_longlong(s + 3 * c + sin(v * 1e6));
    p[threadIdx.x] = (unsigned)(bits >> 9) ^ (unsigned)(bits >> 33);
}

extern "C" __global__ void powers(unsigned *p) {
    double v = p[threadIdx.x] * 0.37;
    double r = pow(v, 1.7) + exp(v * 0.01) + log(v + 0.1) + pow(1.0 / v, 3.0);
    p[threadIdx.x] = (unsigned)(__double_as_longlong(r) >> 12) ^ __float_as_int(powf((float)v, 0.3f) + expf(-(float)v));
}
