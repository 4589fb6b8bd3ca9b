/**
 * Least squares on the GPU, from TypeScript.
 *
 * Begin with {@link init}; make a {@link Problem}; give it variables and residuals; solve.
 * @packageDocumentation
 */
export type { Device, DeviceBuffer, DeviceView, F32, F64, Floats, Indices, IndexTable } from "./arrays.js";
export { column, perEntry } from "./data.js";
export type { Column, Columns, Data, Row, Update } from "./data.js";
export { init } from "./engine.js";
export type { Backend, Engine, InitOptions, Stats } from "./engine.js";
export { LeastwiseError } from "./errors.js";
export type { ErrorCode } from "./errors.js";
export { cos, mat3, rotateXYZ, select, sin, sqrt, sum, vec } from "./expression.js";
export type { Bool, Mat3, Num, Scalar, Value, Vec, Vec2, Vec3, Vec4 } from "./expression.js";
export type { Problem, Residual } from "./problem.js";
export type { Counters, Iteration, Report, Termination } from "./report.js";
export type { Args, Ragged, Slot, Slots } from "./slots.js";
export type { Solver, SolveOptions } from "./solver.js";
export type { Constants, Element, Shape, Table, Variables } from "./table.js";
export type { Evaluation, GradientCheck, Term, TermOptions } from "./term.js";
export type { WasmSource } from "./wasm.js";
