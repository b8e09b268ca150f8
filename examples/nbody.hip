// All-pairs gravity with positions staged through LDS, reciprocal square roots and a few time steps.
//   nbody [bodies] [steps]
#include "example.h"

constexpr int block = 64;
constexpr float softening = 0.01f;
constexpr float dt = 0.001f;

__global__ void accelerate(const float4 *position, float4 *velocity, int n) {
    __shared__ float4 staged[block];
    const int i = blockIdx.x * block + threadIdx.x;
    const float4 mine = i < n ? position[i] : make_float4(0, 0, 0, 0);
    float ax = 0, ay = 0, az = 0;
    for (int base = 0; base < n; base += block) {
        const int j = base + threadIdx.x;
        staged[threadIdx.x] = j < n ? position[j] : make_float4(0, 0, 0, 0);  // mass 0 attracts nobody
        __syncthreads();
        for (int k = 0; k < block; k++) {
            const float dx = staged[k].x - mine.x, dy = staged[k].y - mine.y, dz = staged[k].z - mine.z;
            const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + softening);
            const float force = staged[k].w * inverse * inverse * inverse;
            ax += dx * force;
            ay += dy * force;
            az += dz * force;
        }
        __syncthreads();
    }
    if (i < n) {
        velocity[i].x += ax * dt;
        velocity[i].y += ay * dt;
        velocity[i].z += az * dt;
    }
}

__global__ void move(float4 *position, const float4 *velocity, int n) {
    const int i = blockIdx.x * block + threadIdx.x;
    if (i >= n) return;
    position[i].x += velocity[i].x * dt;
    position[i].y += velocity[i].y * dt;
    position[i].z += velocity[i].z * dt;
}

int main(int argc, char **argv) {
    const int n = int(sizeArg(argc, argv, 1, 300));
    const int steps = int(sizeArg(argc, argv, 2, 3));
    Noise noise(8);
    std::vector<float4> position(n), velocity(n, make_float4(0, 0, 0, 0));
    for (float4 &p : position) p = make_float4(noise.unit(), noise.unit(), noise.unit(), noise.unit());

    struct Body {
        double x, y, z, vx, vy, vz, mass;
    };
    std::vector<Body> want(n);
    for (int i = 0; i < n; i++) want[i] = {position[i].x, position[i].y, position[i].z, 0, 0, 0, position[i].w};
    for (int s = 0; s < steps; s++) {
        for (Body &a : want) {
            double ax = 0, ay = 0, az = 0;
            for (const Body &b : want) {
                const double dx = b.x - a.x, dy = b.y - a.y, dz = b.z - a.z;
                const double inverse = 1 / std::sqrt(dx * dx + dy * dy + dz * dz + softening);
                const double force = b.mass * inverse * inverse * inverse;
                ax += dx * force;
                ay += dy * force;
                az += dz * force;
            }
            a.vx += ax * dt;
            a.vy += ay * dt;
            a.vz += az * dt;
        }
        for (Body &a : want) {
            a.x += a.vx * dt;
            a.y += a.vy * dt;
            a.z += a.vz * dt;
        }
    }

    DeviceArray<float4> dposition(position), dvelocity(velocity);
    for (int s = 0; s < steps; s++) {
        accelerate<<<ceilDiv(n, block), block>>>(dposition.get(), dvelocity.get(), n);
        CHECK_LAUNCH();
        move<<<ceilDiv(n, block), block>>>(dposition.get(), dvelocity.get(), n);
        CHECK_LAUNCH();
    }
    std::vector<float> gotFlat, wantFlat;
    const std::vector<float4> p = dposition.download(), v = dvelocity.download();
    for (int i = 0; i < n; i++) {
        for (float f : {p[i].x, p[i].y, p[i].z, v[i].x, v[i].y, v[i].z}) gotFlat.push_back(f);
        for (double f : {want[i].x, want[i].y, want[i].z, want[i].vx, want[i].vy, want[i].vz})
            wantFlat.push_back(float(f));
    }
    return verdict("nbody", matches("body", gotFlat, wantFlat, 2e-5));
}
