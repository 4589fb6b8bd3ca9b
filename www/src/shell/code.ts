/** The code that a page runs, its own or TypeScript as the editor has it, with the package's exports in scope. */
import {
  abs, acos, acosh, and, angleBetween, arctan, asin, asinh, atan, atan2, atanh, barron, cauchy, cbrt, ceil, clamp, closestRotation, column, composed, cos, cosh,
  cotangent, cross, cube, dihedralAngle, distance, dot, eigenSymmetric, erf, exp, exp2, expm1, floor, fract, fromAngleAxis, fromMatrix, gelu, gemanMcClure,
  huber, hypot, leakyRelu, log, log10, log1p, log2, logsumexp, loss, manifold, mat2, mat3, max, mean, min, mix, mod, norm, normalize, not, or, perEntry,
  pow, quat, quatExp, quaternion, reciprocal, relu, rotateXYZ, round, rsqrt, scaled, se2, se3, select, sigmoid, sign, sim3, sin, sinh, smoothstep, so2, so3,
  softL1, softplus, sphere, sqrt, step, subset, sum, sumOver, tan, tanh, tolerant, triangleArea, triangleNormal, trivial, tukey, vec, vector, welsch,
} from "leastwise";
import * as energies from "leastwise/energies";
import * as meshes from "leastwise/mesh";
import { LeastwiseError, type Problem, type Term } from "leastwise";

/** A mistake in the code, and the line that it is at, counted from 1. */
export class CodeError extends Error {
  constructor(message: string, readonly line: number | undefined, readonly code?: string) { super(message); }
}

/** A term that the code made, with the weights that it began with. */
export interface Made { readonly term: Term<object>; readonly weight: number | Float32Array | Float64Array; readonly over: Uint32Array | undefined }

type Scope = { readonly [name: string]: unknown };

/** Names that expressions, losses and tables are made of. Tensors have no part in a problem, and with `import *` every page would carry them. */
export const CORE: Scope = {
  LeastwiseError, abs, acos, acosh, and, angleBetween, arctan, asin, asinh, atan, atan2, atanh, barron, cauchy, cbrt, ceil, clamp, closestRotation, column, composed, cos, cosh,
  cotangent, cross, cube, dihedralAngle, distance, dot, eigenSymmetric, erf, exp, exp2, expm1, floor, fract, fromAngleAxis, fromMatrix, gelu, gemanMcClure,
  huber, hypot, leakyRelu, log, log10, log1p, log2, logsumexp, loss, manifold, mat2, mat3, max, mean, min, mix, mod, norm, normalize, not, or, perEntry,
  pow, quat, quatExp, quaternion, reciprocal, relu, rotateXYZ, round, rsqrt, scaled, se2, se3, select, sigmoid, sign, sim3, sin, sinh, smoothstep, so2, so3,
  softL1, softplus, sphere, sqrt, step, subset, sum, sumOver, tan, tanh, tolerant, triangleArea, triangleNormal, trivial, tukey, vec, vector, welsch,
};
/** Names that a program may use without importing them; an energy of the name of a measure goes before it. */
const PACKAGE: Scope = { ...CORE, ...meshes, ...energies };
/** `new Function` puts two lines before the first of the body. */
const HEADER_LINES = 2;

/** Types are taken out; lines stay where they are. */
async function plain(source: string): Promise<string> {
  const { transform } = await import("sucrase");
  try {
    return transform(source, { transforms: ["typescript"], disableESTransforms: true, preserveDynamicImport: true }).code;
  } catch (error) {
    const { message, loc } = error as Error & { loc?: { line: number } };
    throw new CodeError(message.replace(/^Error transforming [^:]*: /, "").replace(/ \(\d+:\d+\)$/, ""), loc?.line);
  }
}

/**
 * Runs a visitor's code, or the page's `own` if that is empty, once with `problem` and what else is in scope; gives the terms that it made. What
 * fails says at which line. The page's own code has no types, and runs before anything is loaded that takes them out.
 */
export async function runCode(edited: string, own: string, problem: Problem, scope: Scope): Promise<Made[]> {
  const source = edited || own, body = edited ? await plain(edited) : own;
  const names = { ...PACKAGE, ...scope, problem };
  const made: Made[] = [];
  const stop = collect(problem, made);
  try {
    // In a block, so that the code may call its own things by names of the package.
    const work = new Function(...Object.keys(names), `"use strict";{${body}\n}`) as (...values: unknown[]) => unknown;
    const result = work(...Object.values(names));
    if (result instanceof Promise) throw new CodeError("the code must not be asynchronous", undefined);
    if (!made.length) throw new CodeError("the code adds no term: call problem.residuals or problem.energy", undefined);
    return made;
  } catch (error) {
    throw error instanceof CodeError ? error : new CodeError(error instanceof Error ? error.message : String(error), lineOf(error, source), error instanceof LeastwiseError ? error.code : undefined);
  } finally {
    stop();
  }
}

/** The line of an error in the code: the first of its own lines in the stack, or that of the term that it names. */
export function lineOf(error: unknown, source: string): number | undefined {
  if (error instanceof LeastwiseError && error.term !== undefined) {
    const at = source.split("\n").findIndex((line) => line.includes(`"${error.term}"`));
    if (at >= 0) return at + 1;
  }
  const found = /<anonymous>:(\d+):\d+/.exec(error instanceof Error ? (error.stack ?? "") : "") ?? /> Function:(\d+):\d+/.exec(error instanceof Error ? (error.stack ?? "") : "");
  const line = found ? Number(found[1]) - HEADER_LINES : undefined;
  return line !== undefined && line >= 1 && line <= source.split("\n").length ? line : undefined;
}

/** Hears of every term that is added, also by the package's own energies. */
function collect(problem: Problem, made: Made[]): () => void {
  const own = problem as unknown as Record<string, unknown>;
  for (const method of ["residuals", "energy"] as const) {
    const original = problem[method].bind(problem) as (name: string, options: { weight?: Made["weight"]; over?: unknown }, work: unknown) => Term<object>;
    own[method] = (name: string, options: { weight?: Made["weight"]; over?: unknown }, work: unknown) => {
      const term = original(name, options, work);
      const table = options.over;
      made.push({ term, weight: options.weight ?? 1, over: typeof table === "object" ? Uint32Array.from(Array.isArray(table) ? (table.flat() as number[]) : (table as Uint32Array)) : undefined });
      return term;
    };
  }
  return () => { for (const method of ["residuals", "energy"]) delete own[method]; };
}

/** Weighs a term by a factor of what it began with. */
export function weigh({ term, weight }: Made, factor: number): void {
  term.set({ weight: typeof weight === "number" ? factor * weight : weight.map((one) => factor * one) as Float64Array });
}
