// As-rigid-as-possible deformation of the armadillo. `arap MESH.off LEVEL [sparse|pcg]`: until the cost is at most LEVEL.
// Subtract each axis' minimum, divide by the height; unknowns a vertex: a place and three Euler angles; three rows for every
// directed edge, (x_i − x_j) − Rz·Ry·Rx·(rest_i − rest_j), and √5 (x − target) for the vertices at the bottom and the top.
#include <array>
#include <cmath>
#include <fstream>
#include <set>
#include <vector>

#include "common.h"

using Point = std::array<double, 3>;

struct Edge {
  Point rest;
  template <typename T>
  bool operator()(const T* a, const T* b, const T* angles, T* residual) const {
    using std::cos;
    using std::sin;
    const T cx = cos(angles[0]), sx = sin(angles[0]), cy = cos(angles[1]), sy = sin(angles[1]), cz = cos(angles[2]), sz = sin(angles[2]);
    const T y = cx * rest[1] - sx * rest[2], z = sx * rest[1] + cx * rest[2];
    const T u = cy * rest[0] + sy * z, w = -sy * rest[0] + cy * z;
    residual[0] = a[0] - b[0] - (cz * u - sz * y);
    residual[1] = a[1] - b[1] - (sz * u + cz * y);
    residual[2] = a[2] - b[2] - w;
    return true;
  }
};

struct Handle {
  Point target;
  template <typename T>
  bool operator()(const T* x, T* residual) const {
    for (int k = 0; k < 3; k++) residual[k] = std::sqrt(5.0) * (x[k] - target[k]);
    return true;
  }
};

int main(int count, char** arguments) {
  if (count < 3) return std::fprintf(stderr, "arap MESH.off LEVEL [sparse|pcg]\n"), 2;
  std::ifstream file(arguments[1]);
  std::string head;
  size_t vertices, faces, edges;
  if (!(file >> head >> vertices >> faces >> edges) || head != "OFF") return std::fprintf(stderr, "%s is no OFF file\n", arguments[1]), 2;
  std::vector<Point> rest(vertices);
  Point low{1e300, 1e300, 1e300};
  double top = -1e300;
  for (auto& point : rest) {
    for (int k = 0; k < 3; k++) file >> point[k], low[k] = std::min(low[k], point[k]);
    top = std::max(top, point[1]);
  }
  const double height = top - low[1];
  for (auto& point : rest)
    for (int k = 0; k < 3; k++) point[k] = (point[k] - low[k]) / height;
  std::set<std::pair<int, int>> directed;
  for (size_t f = 0; f < faces; f++) {
    int corners, v[3];
    file >> corners >> v[0] >> v[1] >> v[2];
    for (int k = 0; k < 3; k++) directed.insert({v[k], v[(k + 1) % 3]}), directed.insert({v[(k + 1) % 3], v[k]});
  }
  const std::string only = count > 3 ? arguments[3] : "";
  for (const std::string solver : {"sparse", "pcg"}) {
    if (!only.empty() && only != solver) continue;
    std::vector<Point> x = rest, angles(vertices, Point{0, 0, 0});
    ceres::Problem problem;
    for (auto [i, j] : directed) {
      const Point between{rest[i][0] - rest[j][0], rest[i][1] - rest[j][1], rest[i][2] - rest[j][2]};
      problem.AddResidualBlock(new ceres::AutoDiffCostFunction<Edge, 3, 3, 3, 3>(new Edge{between}), nullptr, x[i].data(), x[j].data(), angles[i].data());
    }
    for (size_t i = 0; i < vertices; i++) {
      if (rest[i][1] >= 0.05 && rest[i][1] <= 0.95) continue;
      Point target = rest[i];
      if (rest[i][1] > 0.95) target[0] += 0.3;
      problem.AddResidualBlock(new ceres::AutoDiffCostFunction<Handle, 3, 3>(new Handle{target}), nullptr, x[i].data());
    }
    ceres::Solver::Options options;
    options.max_num_iterations = 200;
    options.function_tolerance = options.gradient_tolerance = options.parameter_tolerance = 0;
    options.linear_solver_type = solver == "sparse" ? ceres::SPARSE_NORMAL_CHOLESKY : ceres::CGNR;
    options.preconditioner_type = ceres::JACOBI;
    options.max_linear_solver_iterations = 500;
    options.eta = 1e-3;
    SolveTo(std::stod(arguments[2]), "arap", solver == "sparse" ? "SPARSE_NORMAL_CHOLESKY" : "CGNR, JACOBI", options, &problem);
  }
}
