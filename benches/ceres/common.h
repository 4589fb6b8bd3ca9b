// What the programs share: options for two threads, the time and step at which a cost is reached, and results as JSON lines.
#pragma once

#include <ceres/ceres.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>

inline double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Seconds of all threads of this process so far.
inline double CpuSeconds() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + 1e-6 * (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/// Ends a solve at the first step whose cost is low enough.
class UntilCost : public ceres::IterationCallback {
 public:
  explicit UntilCost(double level) : level_(level) {}
  ceres::CallbackReturnType operator()(const ceres::IterationSummary& step) override {
    return step.cost <= level_ ? ceres::SOLVER_TERMINATE_SUCCESSFULLY : ceres::SOLVER_CONTINUE;
  }

 private:
  double level_;
};

/// Solves until the cost is reached and prints a line of JSON. Wall and CPU seconds are those of ceres::Solve.
inline void SolveTo(double level, const std::string& problem_name, const std::string& solver_name, ceres::Solver::Options options,
                    ceres::Problem* problem) {
  UntilCost until(level);
  options.callbacks.push_back(&until);
  options.num_threads = 2;
  options.logging_type = ceres::SILENT;
  ceres::Solver::Summary summary;
  const double wall = Now(), cpu = CpuSeconds();
  ceres::Solve(options, problem, &summary);
  int inner = 0;
  for (const auto& step : summary.iterations) inner += step.linear_solver_iterations;
  std::printf("{\"problem\":\"%s\",\"solver\":\"%s\",\"reached\":%s,\"cost\":%.9e,\"seconds\":%.3f,\"cpuSeconds\":%.3f,\"steps\":%zu,\"inner\":%d}\n",
              problem_name.c_str(), solver_name.c_str(), summary.final_cost <= level ? "true" : "false", summary.final_cost, Now() - wall,
              CpuSeconds() - cpu, summary.iterations.size() - 1, inner);
  std::fflush(stdout);
}
