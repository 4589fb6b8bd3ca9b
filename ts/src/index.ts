/** All that the entries `leastwise`, `leastwise/inline` and `leastwise/threads` share: everything but making an engine. */
export type { Device, DeviceBuffer, DeviceView, F32, F64, Floats, Indices, IndexTable, Mask, Values } from "./arrays.js";
export type { AnnealOptions, ClusterBase, ClusterIteration, Clustering, ClusterOptions, LloydOptions, Mean, VlcOptions } from "./cluster.js";
export type { CodeOptions, CompressOptions, PublishedFiles } from "./compress.js";
export type { CovarianceOptions, CovarianceSpace, JointPart, Marginals, NullSpacePart } from "./covariance.js";
export { column, perEntry } from "./data.js";
export type { Column, Columns, Data, PerEntry, Row, Update } from "./data.js";
export type { InitOptions, PreloadOptions, World } from "./init.js";
export type { Backend, Doubles, DTypeOf, Engine, Memory, Precision, Stats } from "./engine.js";
export { LeastwiseError } from "./errors.js";
export type { ErrorCode } from "./errors.js";
export {
  and, angleBetween, clamp, closestRotation, cotangent, cross, dihedralAngle, distance, dot, eigenSymmetric, fromAngleAxis, fromMatrix, hypot, logsumexp, mat2, mat3, max, mean, min, mix, norm,
  normalize, not, or, pow, quat, quatExp, rotateXYZ, select, smoothstep, step, sum, triangleArea, triangleNormal, vec, vector,
} from "./expression.js";
export * from "./functions.js";
export type { Bool, Eigen, Mat, Mat2, Mat3, MatOf, Num, Quat, Scalar, Value, Vec, Vec2, Vec3, Vec4, VecOf } from "./expression.js";
export { fitModels, type FitCurves, type FitImages, type FitModel } from "./fit-models.js";
export type { FitBase, FitLeastSquares, FitOptions, FitParameters, FitPoisson, Fits, FitStarts, FitState } from "./fit.js";
export type { GraduatedEnding, GraduatedOptions, GraduatedReport, Suspect } from "./graduated.js";
export type { BackwardOptions, Cotangent, Gradients, TermGradients } from "./gradients.js";
export { composed, loss, scaled, trivial, type Loss, type LossParameters } from "./loss.js";
export * from "./losses.js";
export { manifold, quaternion, se2, se3, sim3, so2, so3, sphere, subset, type Retraction } from "./manifolds.js";
export type { Se2, Se3, Sim3, So2 } from "./motions.js";
export type { Points } from "./points.js";
export type { Problem, Residual } from "./problem.js";
export type { Counters, Feasibility, Freedom, Iteration, Offender, EvaluatorReport, ProductReport, Refinement, Report, Termination } from "./report.js";
export type { Reporting } from "./options.js";
export type { Element, Manifold, Shape } from "./shape.js";
export type { Args, Ragged, Slot, Slots } from "./slots.js";
export type { LiveSteps, Solver, SolveOptions } from "./solver.js";
export type { MultiStartOptions, MultiStartReport, SampledStarts, Start } from "./starts.js";
export { sumOver } from "./sums.js";
export type { Each, EntryOf, More } from "./sums.js";
export type { Bounds, Constants, Table, Variables } from "./table.js";
export type { Constraint, ConstraintOptions, EnergyOptions, Evaluation, GradientCheck, HessianEvaluation, HessianForm, Term, TermOptions } from "./term.js";
export type { Arrays, DeviceArray, KeptArray } from "./tensor/device-arrays.js";
export { convTranspose2d } from "./tensor/convolutions.js";
export type { TransposedOptions } from "./tensor/convolutions.js";
export { hvp, jvp, vjp } from "./tensor/derivatives.js";
export type { Pullback } from "./tensor/derivatives.js";
export { einsum } from "./tensor/einsum.js";
export { attention, concat, conv2d, crossEntropy, embedding, grad, map, maxPool2d, stack, where } from "./tensor/functions.js";
export type { AttentionOptions, ConvolutionOptions, Pair, PoolOptions } from "./tensor/functions.js";
export type { SortOptions, TopK } from "./tensor/along.js";
export type { NormOptions, SpreadOptions } from "./tensor/composed.js";
export { avgPool2d, batchNorm, dropout, groupNorm, oneHot, valueAndGrad } from "./tensor/layers.js";
export type { BatchNormOptions, NormalizationOptions } from "./tensor/layers.js";
export type { BoolOptions, HalfOptions, IntOptions, Nested, NestedBooleans, RandomOptions, TensorEngine, TensorOptions, TensorStatistics, TensorStep } from "./tensor/make.js";
export { cholesky, eigh, linearSolve, qr, svd } from "./tensor/linear.js";
export type { EighResult, QRResult, SVDResult } from "./tensor/linear.js";
export { solveAsTensors } from "./tensor/solution.js";
export type { SolveAsTensorsOptions, TensorData, TensorSolution } from "./tensor/solution.js";
export type { TensorModel, TensorRates } from "./tensor/model.js";
export type { TensorRouting, TensorSettings } from "./tensor/routing.js";
export type { Axes, Range, ReduceOptions, Sizes } from "./tensor/shapes.js";
export type { BoolTensor, DType, HalfTensor, IntTensor, Kept, ReadAs, RowNumbers, Storage, Tensor, ValuesOf } from "./tensor/tensor.js";
export type { Evaluator, Schedule, Tuning } from "./tuning.js";
export { half, Half } from "./vectors/half.js";
export type {
  AddOptions, BuildGraphOptions, EvaluateOptions, Hits, IndexEvaluation, IndexInfo, RangeHits, RangeOptions, SaveOptions, Searched, SearchOptions, UpsertOptions, VectorIndex,
} from "./vector-index.js";
export type { Filter } from "./vectors/filter.js";
export type { Key, KeyList } from "./vectors/keys.js";
export type { Metric } from "./vectors/metric.js";
export type { CompiledWasm, WasmSource } from "./source.js";
