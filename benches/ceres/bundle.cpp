// Bundle adjustment of a file of the BAL collection. `bundle problem.txt LEVEL`: until the cost is at most LEVEL, with each solver
// that suits the problem.
#include <ceres/rotation.h>

#include <fstream>
#include <vector>

#include "common.h"

struct View {
  double x, y;
  template <typename T>
  bool operator()(const T* camera, const T* point, T* residual) const {
    T p[3];
    ceres::AngleAxisRotatePoint(camera, point, p);
    for (int k = 0; k < 3; k++) p[k] += camera[3 + k];
    const T u = -p[0] / p[2], v = -p[1] / p[2], square = u * u + v * v;
    const T scale = camera[6] * (1.0 + square * (camera[7] + camera[8] * square));
    residual[0] = scale * u - x;
    residual[1] = scale * v - y;
    return true;
  }
};

int main(int count, char** arguments) {
  if (count < 3) return std::fprintf(stderr, "bundle problem.txt LEVEL\n"), 2;
  std::ifstream file(arguments[1]);
  int cameras, points, views;
  if (!(file >> cameras >> points >> views)) return std::fprintf(stderr, "%s is no file of the BAL collection\n", arguments[1]), 2;
  std::vector<std::pair<int, int>> pairs(views);
  std::vector<View> seen(views);
  for (int k = 0; k < views; k++) file >> pairs[k].first >> pairs[k].second >> seen[k].x >> seen[k].y;
  std::vector<double> start(9 * cameras + 3 * points);
  for (double& value : start) file >> value;
  const std::pair<ceres::LinearSolverType, const char*> solvers[] = {
      {ceres::DENSE_SCHUR, "DENSE_SCHUR"}, {ceres::SPARSE_SCHUR, "SPARSE_SCHUR"}, {ceres::ITERATIVE_SCHUR, "ITERATIVE_SCHUR, SCHUR_JACOBI"}};
  for (auto [type, name] : solvers) {
    std::vector<double> values = start;
    ceres::Problem problem;
    auto* ordering = new ceres::ParameterBlockOrdering;
    for (int k = 0; k < views; k++) {
      double *camera = &values[9 * pairs[k].first], *point = &values[9 * cameras + 3 * pairs[k].second];
      problem.AddResidualBlock(new ceres::AutoDiffCostFunction<View, 2, 9, 3>(new View(seen[k])), nullptr, camera, point);
      ordering->AddElementToGroup(point, 0);
      ordering->AddElementToGroup(camera, 1);
    }
    ceres::Solver::Options options;
    options.max_num_iterations = 100;
    options.function_tolerance = options.gradient_tolerance = options.parameter_tolerance = 0;
    options.linear_solver_type = type;
    options.preconditioner_type = ceres::SCHUR_JACOBI;
    options.linear_solver_ordering.reset(ordering);
    SolveTo(std::stod(arguments[2]), "bundle", name, options, &problem);
  }
}
