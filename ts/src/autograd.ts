/** `leastwise/autograd`: least squares and gradients written one value at a time, in plain loops. */
export { lbfgsAsync, nonlinearLeastSquaresAsync, type EngineSolveOptions, type EngineSolveResult } from "./autograd/asynchronous.js";
export { CompiledFunctions, CompiledResiduals, type Build, type CompiledSet } from "./autograd/compiled.js";
export { Geometry } from "./autograd/geometry.js";
export { lbfgs, type LBFGSOptions, type LBFGSResult } from "./autograd/lbfgs.js";
export { nonlinearLeastSquares, type NonlinearLeastSquaresOptions, type NonlinearLeastSquaresResult } from "./autograd/least-squares.js";
export { Losses } from "./autograd/losses.js";
export { Matrix3x3 } from "./autograd/matrix.js";
export { Adam, AdamW, Optimizer, SGD, type AdamOptions, type SGDOptions } from "./autograd/optimizers.js";
export type { CompileOptions } from "./autograd/placement.js";
export type { AutogradTermination, SolverOutcome } from "./autograd/termination.js";
export { V, type Operand } from "./autograd/v.js";
export { Value, type BackwardFn } from "./autograd/value.js";
export { Vec4 } from "./autograd/four-vectors.js";
export { Vec2, Vec3 } from "./autograd/vectors.js";
