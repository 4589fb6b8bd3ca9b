// Compiled, never run: `lw.fit`.
import { exp, huber, init } from "leastwise";
import type { Engine, FitOptions, Fits, FitState, Scalar, Values } from "leastwise";
import { fitSet } from "leastwise/fits";
import type { FitSet } from "leastwise/fits";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false;
function is<T extends true>(_proof?: T): void {}

export async function decays(times: Float32Array, counts: Uint16Array) {
  using lw = await init();
  const { values, standardErrors } = await lw.fit({
    model: ([a, k], { t }) => a.mul(exp(k.mul(t).neg())),
    parameters: ["a", "k"], variables: { t: times }, points: times.length, data: counts,
    start: { a: 100, k: 0.5 }, lower: { k: 0 }, likelihood: "poisson",
  });
  return [values.k, standardErrors.k];
}

export async function fits(lw: Engine, data: Float64Array, x: Float64Array, each: Float32Array, signal: AbortSignal) {
  const given = { model: ([a, b]: readonly [Scalar, Scalar], { x }: { readonly x: Scalar }) => a.add(b.mul(x)), parameters: ["a", "b"] as const, variables: { x }, points: 4, data, start: { a: 0, b: each } };
  const found = await lw.fit(given);
  is<Same<typeof found, Fits<"a" | "b">>>();
  is<Same<typeof found.values.a, Values>>();
  is<Same<typeof found.states, Uint8Array>>();
  const state = found.state(0);
  is<Same<typeof state, FitState>>();
  await lw.fit({ ...given, weights: each, fixed: ["a"], upper: { b: each }, loss: huber(1), variance: 0.1, maxIterations: 20, costTolerance: 1e-6, stepTolerance: 1e-6, signal, onProgress: (done: number, total: number) => void (done / total) });
  await lw.fit({ ...given, points: new Uint32Array([4, 3]), variance: "estimated", likelihood: "least-squares" });
  await lw.fit({ model: ([a]) => a, parameters: ["a"], points: 3, data, start: { a: 0 } });
  const options: FitOptions<readonly ["a", "b"], "x"> = given;
  await lw.fit(options);
  await lw.fit({ ...given, starts: { grid: { a: [1, 2], b: each } } });
  await lw.fit({ ...given, starts: { random: 4, seed: 1 } });
  await lw.fit({ ...given, start: { a: 0, b: 0 }, shared: ["b"] });
  // @ts-expect-error c is no parameter
  await lw.fit({ ...given, shared: ["c"] });
  // @ts-expect-error c is no parameter
  await lw.fit({ ...given, starts: { grid: { c: [1] } } });
  // @ts-expect-error one or the other
  await lw.fit({ ...given, starts: { grid: { a: [1] }, random: 3 } });
  using set = await fitSet(lw, given);
  is<Same<typeof set, FitSet<"a" | "b">>>();
  await set.run({ from: "values", signal, onProgress: (done: number, total: number) => void (done / total) });
  await set.write(data);
  const column = await set.values("b"), all = await set.read();
  is<Same<typeof column, Values>>();
  is<Same<typeof all, Fits<"a" | "b">>>();
  // @ts-expect-error c is no parameter
  await set.values("c");
  // @ts-expect-error fits begin at one or the other
  await set.run({ from: "best" });
  // @ts-expect-error a third parameter that is not there
  await lw.fit({ model: ([a, b, c], { x }) => a.add(b.mul(x)).add(c), parameters: ["a", "b"], variables: { x }, points: 4, data, start: { a: 0, b: 0 } });
  // @ts-expect-error a variable that is not there
  await lw.fit({ model: ([a, b], { y }) => a.add(b.mul(y)), parameters: ["a", "b"], variables: { x }, points: 4, data, start: { a: 0, b: 0 } });
  // @ts-expect-error where does b begin?
  await lw.fit({ ...given, start: { a: 0 } });
  // @ts-expect-error how many points has a fit?
  await lw.fit({ model: ([a]) => a, parameters: ["a"], data, start: { a: 0 } });
  // @ts-expect-error a model gives a scalar
  await lw.fit({ model: () => 3, parameters: ["a"], points: 3, data, start: { a: 0 } });
  // @ts-expect-error c is no parameter
  await lw.fit({ ...given, fixed: ["c"] });
  // @ts-expect-error c is no parameter
  await lw.fit({ ...given, lower: { c: 0 } });
  // @ts-expect-error counts have no loss
  await lw.fit({ ...given, likelihood: "poisson", loss: huber(1) });
  // @ts-expect-error the variance of counts is known
  await lw.fit({ ...given, likelihood: "poisson", variance: 1 });
  // @ts-expect-error there is no such likelihood
  await lw.fit({ ...given, likelihood: "gauss" });
  // @ts-expect-error it is called maxIterations
  await lw.fit({ ...given, iterations: 20 });
  // @ts-expect-error results have the names of the parameters
  console.log(found.values.c);
}
