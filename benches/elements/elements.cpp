// Value and gradient of three energies, element by element, as one writes them by hand: each loop gathers its vertices, computes, and
// stores a column for the value and one for every distinct entry of the gradient, which is what the engine's programs store.
//
// elements springs|arap|dirichlet f64|f32 FILE SECONDS: FILE has little-endian words: vertices, elements, numbers of data an
// element, then indices (a column a corner), then, in f64, the vertices' numbers and the columns of data. Prints JSON.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

/** ½(‖a − b‖ − rest)²; its gradient in b is that in a, negative. */
template <class R>
__attribute__((noinline)) void springs(int count, const uint32_t* __restrict i, const uint32_t* __restrict j, const R* __restrict x, const R* __restrict rest, R* __restrict out) {
  for (int e = 0; e < count; e++) {
    const R *a = x + 3 * i[e], *b = x + 3 * j[e];
    const R dx = a[0] - b[0], dy = a[1] - b[1], dz = a[2] - b[2];
    const R length = std::sqrt(dx * dx + dy * dy + dz * dz);
    const R r = length - rest[e];
    const R scale = length > 0 ? r / length : R(0);
    out[e] = R(0.5) * r * r;
    out[count + e] = scale * dx;
    out[2 * count + e] = scale * dy;
    out[3 * count + e] = scale * dz;
  }
}

/** ½‖a − b − R(w)(â − b̂)‖² for R = Rz·Ry·Rx; in b the gradient is that in a, negative. */
template <class R>
__attribute__((noinline)) void arap(int count, const uint32_t* __restrict i, const uint32_t* __restrict j, const R* __restrict x, const R* __restrict turn, const R* __restrict rest, R* __restrict out) {
  for (int e = 0; e < count; e++) {
    const R *a = x + 3 * i[e], *b = x + 3 * j[e], *w = turn + 3 * i[e], *p = rest + 3 * i[e], *q = rest + 3 * j[e];
    const R cx = std::cos(w[0]), sx = std::sin(w[0]), cy = std::cos(w[1]), sy = std::sin(w[1]), cz = std::cos(w[2]), sz = std::sin(w[2]);
    const R dx = p[0] - q[0], dy = p[1] - q[1], dz = p[2] - q[2];
    const R y1 = cx * dy - sx * dz, z1 = sx * dy + cx * dz;
    const R x2 = cy * dx + sy * z1, z2 = cy * z1 - sy * dx;
    const R x3 = cz * x2 - sz * y1, y3 = sz * x2 + cz * y1;
    const R r0 = a[0] - b[0] - x3, r1 = a[1] - b[1] - y3, r2 = a[2] - b[2] - z2;
    out[e] = R(0.5) * (r0 * r0 + r1 * r1 + r2 * r2);
    out[count + e] = r0;
    out[2 * count + e] = r1;
    out[3 * count + e] = r2;
    // −rᵀ ∂(R d)/∂w: r turned back about z, then about y.
    const R u = cz * r0 + sz * r1, v = cz * r1 - sz * r0;
    const R t = sy * u + cy * r2;
    out[4 * count + e] = z1 * v - y1 * t;
    out[5 * count + e] = x2 * r2 - z2 * u;
    out[6 * count + e] = y3 * r0 - x3 * r1;
  }
}

/** area·(‖J‖² + ‖J⁻¹‖²) of a triangle in the plane. */
template <class R>
__attribute__((noinline)) void dirichlet(int count, const uint32_t* __restrict i, const uint32_t* __restrict j, const uint32_t* __restrict k, const R* __restrict x, const R* __restrict m, R* __restrict out) {
  for (int e = 0; e < count; e++) {
    const R *a = x + 2 * i[e], *b = x + 2 * j[e], *c = x + 2 * k[e];
    const R u0 = b[0] - a[0], u1 = b[1] - a[1], v0 = c[0] - a[0], v1 = c[1] - a[1];
    const R m0 = m[e], m1 = m[count + e], m2 = m[2 * count + e], m3 = m[3 * count + e], area = m[4 * count + e];
    const R f00 = u0 * m0 + v0 * m2, f01 = u0 * m1 + v0 * m3, f10 = u1 * m0 + v1 * m2, f11 = u1 * m1 + v1 * m3;
    const R inverse = R(1) / (f00 * f11 - f01 * f10), squared = inverse * inverse;
    const R sum = f00 * f00 + f01 * f01 + f10 * f10 + f11 * f11;
    out[e] = area * (sum + sum * squared);
    const R s = 2 * area * (1 + squared), t = -2 * area * sum * squared * inverse;
    const R g00 = s * f00 + t * f11, g01 = s * f01 - t * f10, g10 = s * f10 - t * f01, g11 = s * f11 + t * f00;
    const R b0 = g00 * m0 + g01 * m1, b1 = g10 * m0 + g11 * m1, c0 = g00 * m2 + g01 * m3, c1 = g10 * m2 + g11 * m3;
    out[count + e] = -b0 - c0;
    out[2 * count + e] = -b1 - c1;
    out[3 * count + e] = b0;
    out[4 * count + e] = b1;
    out[5 * count + e] = c0;
    out[6 * count + e] = c1;
  }
}

template <class T>
std::vector<T> take(FILE* file, size_t count) {
  std::vector<T> values(count);
  if (fread(values.data(), sizeof(T), count, file) != count) exit(2);
  return values;
}

template <class R>
void run(const std::string& what, FILE* file, double seconds) {
  const auto sizes = take<uint32_t>(file, 5);
  const uint32_t vertices = sizes[0], count = sizes[1], corners = sizes[2], width = sizes[3], columns = sizes[4];
  const auto index = take<uint32_t>(file, size_t(corners) * count);
  const auto numbers = take<double>(file, size_t(vertices) * width + size_t(columns) * count);
  const std::vector<R> all(numbers.begin(), numbers.end());
  const uint32_t *i = index.data(), *j = i + count, *k = j + count;
  const R *x = all.data(), *data = x + size_t(vertices) * width;
  std::vector<R> out(size_t(7) * count);
  const auto once = [&] {
    if (what == "springs") springs(count, i, j, x, data, out.data());
    else if (what == "arap") arap(count, i, j, x, x + 3 * size_t(vertices), x + 6 * size_t(vertices), out.data());
    else dirichlet(count, i, j, k, x, data, out.data());
  };
  using clock = std::chrono::steady_clock;
  const auto since = [](clock::time_point start) { return std::chrono::duration<double>(clock::now() - start).count(); };
  double least = 1e9;
  for (const auto begun = clock::now(); since(begun) < seconds;) {
    const auto start = clock::now();
    once();
    least = std::min(least, since(start));
  }
  // What says that it is the same: the value, and the largest component of the gradient.
  double value = 0;
  std::vector<double> g(numbers.size());
  for (uint32_t e = 0; e < count; e++) {
    const auto column = [&](int c) { return double(out[size_t(c) * count + e]); };
    value += column(0);
    for (uint32_t c = 0; what == "dirichlet" && c < 6; c++) g[2 * index[(c / 2) * count + e] + c % 2] += column(1 + c);
    for (uint32_t c = 0; what != "dirichlet" && c < 3; c++) {
      g[3 * i[e] + c] += column(1 + c);
      g[3 * j[e] + c] -= column(1 + c);
      if (what == "arap") g[3 * vertices + 3 * i[e] + c] += column(4 + c);
    }
  }
  double largest = 0;
  for (const double each : g) largest = std::max(largest, std::fabs(each));
  printf("{\"ns\":%.4f,\"value\":%.17g,\"gradient\":%.17g}\n", least * 1e9 / count, value, largest);
}

int main(int count, char** arguments) {
  if (count != 5) return 2;
  FILE* file = fopen(arguments[3], "rb");
  if (!file) return 2;
  const std::string what = arguments[1];
  if (!strcmp(arguments[2], "f64")) run<double>(what, file, atof(arguments[4]));
  else run<float>(what, file, atof(arguments[4]));
}
