// Mistakes in shapes and options, and the first line of what TypeScript says of each: what a user reads. Compiled, never run.
import { closestRotation, dot, exp, init, quaternion, select, type Engine } from "leastwise";
import { mlp } from "leastwise/nn";

export function mistakes(lw: Engine, column: Float64Array) {
  const p = lw.problem();
  const x = p.variables("x", { shape: 3, values: [0, 0, 0] });
  const uv = p.variables("uv", { shape: 2, values: [0, 0] });
  const scale = p.variables("scale", { shape: 1, values: [1] });
  const turn = p.variables("turn", { shape: quaternion, values: [0, 0, 0, 1] });

  // TS2345: Argument of type 'Vec2' is not assignable to parameter of type 'Vec<3>'.
  p.residuals("edge", { of: [x, uv] }, ([a, b]) => a.sub(b));
  // TS2740: Type 'Scalar' is missing the following properties from type 'Vec<3>': length, dot, norm, normSq, and 2 more.
  p.residuals("scaled", { of: [x, scale] }, ([a, b]) => a.add(b));
  // TS2345: Argument of type 'number' is not assignable to parameter of type 'Vec<3>'.
  p.residuals("offset", { of: [x] }, ([a]) => a.sub(1));
  // TS2493: Tuple type 'readonly [Vec3]' of length '1' has no element at index '1'.
  p.residuals("slots", { of: [x] }, ([a, b]) => a);
  // TS2362: The left-hand side of an arithmetic operation must be of type 'any', 'number', 'bigint' or an enum type.
  p.residuals("operators", { of: [scale] }, ([a]) => a * 2);
  // TS2345: Argument of type '([a]: readonly [Vec3]) => void' is not assignable to parameter of type '(of: readonly [Vec3], data: Row<{}, readonly [Variables<Vec3>]>) => Residual'.
  p.residuals("no return", { of: [x] }, ([a]) => { a.mul(2); });
  // TS2339: Property 'seen' does not exist on type 'Row<{ readonly t: Float64Array<ArrayBufferLike>; }, readonly [Variables<Vec3>]>'.
  p.residuals("misspelt", { of: [x], data: { t: column } }, ([a], { seen }) => a);
  // TS2345: Argument of type 'Vec3' is not assignable to parameter of type 'Num'.
  p.residuals("scalar first", { of: [x], data: { t: column } }, ([a], { t }) => t.sub(a));
  // TS2322: Type 'Variables<Vec3>' is not assignable to type 'Slots'.
  p.residuals("no list", { of: x }, (all) => []);
  // TS2345: Argument of type 'Vec3' is not assignable to parameter of type 'Num'.
  p.residuals("function", { of: [x] }, ([a]) => exp(a));
  // TS2345: Argument of type 'Vec2' is not assignable to parameter of type 'Vec<3>'.
  p.residuals("dot", { of: [x, uv] }, ([a, b]) => dot(a, b));
  // TS2740: Type 'Vec3' is missing the following properties from type 'Quat': w, xyzw, conjugate, inverse, and 4 more.
  p.residuals("turned", { of: [turn, x] }, ([q, a]) => q.mul(a));
  // TS2322: Type 'string' is not assignable to type 'Loss'.
  p.residuals("loss", { of: [x], loss: "huber" }, ([a]) => a);
  // TS2365: Operator '>' cannot be applied to types 'Scalar' and 'number'.
  p.residuals("comparison", { of: [x] }, ([a]) => select(a.x > 0, a.x, 0));
  // TS2339: Property 'z' does not exist on type 'Vec2'.
  p.residuals("component", { of: [uv] }, ([a]) => a.z);
  // TS2740: Type 'Vec3' is missing the following properties from type 'Mat3': size, transpose, determinant, inverse, and 3 more.
  p.residuals("matrix", { of: [x] }, ([a]) => closestRotation(a));
  // TS2740: Type 'Vec3' is missing the following properties from type 'Scalar': square, gt, lt, ge, and 3 more.
  p.energy("energy", { of: [x] }, ([a]) => a);
  // TS2345: Argument of type '{ of: [Variables<Vec3>]; }' is not assignable to parameter of type 'ConstraintOptions<readonly [Variables<Vec3>], {}>'.
  p.constrain("relation", { of: [x] }, ([a]) => a.x);
  // TS2322: Type 'string' is not assignable to type 'Shape'.
  p.variables("shape", { shape: "vec3", values: [0, 0, 0] });
  // TS2322: Type '"levenberg"' is not assignable to type '"adam" | "dogleg" | "gauss-newton" | "gradient-descent" | "lbfgs" | "lm" | "newton" | "nonlinear-cg" | undefined'.
  p.solve({ method: "levenberg" });
  // TS2561: Object literal may only specify known properties, but 'maxiterations' does not exist in type 'SolveOptions'. Did you mean to write 'maxIterations'?
  p.solve({ maxiterations: 3 });
  // TS2769: No overload matches this call.
  lw.tensor([[1]]).matmul(3);
  // TS2741: Property 'seed' is missing in type '{}' but required in type 'MlpOptions<"f32">'.
  mlp(lw, [1, 2], {});
  // TS2322: Type '"gpu"' is not assignable to type '"auto" | Backend | undefined'.
  init({ backend: "gpu" });
}
