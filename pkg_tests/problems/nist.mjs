// The 27 nonlinear regressions of NIST's Statistical Reference Datasets, each with two starts and certified values
// (https://www.itl.nist.gov/div898/strd/nls/nls_main.shtml). Files and models as published; nothing is rescaled.
import { readFileSync } from "node:fs";
import { atan, column, cos, cube, exp, pow, reciprocal, sin } from "leastwise";

const exponential = ([b1, b2], x) => b1.mul(exp(b2.mul(x).neg()).neg().add(1));
const cubicOverCubic = ([b1, b2, b3, b4, b5, b6, b7], x) =>
  b1.add(b2.mul(x)).add(b3.mul(x.square())).add(b4.mul(cube(x))).div(b5.mul(x).add(b6.mul(x.square())).add(b7.mul(cube(x))).add(1));
const decay = ([b1, b2, b3], x) => exp(b1.mul(x).neg()).div(b2.add(b3.mul(x)));
const bump = (height, centre, width, x) => height.mul(exp(x.sub(centre).div(width).square().neg()));
const twoPeaks = ([b1, b2, b3, b4, b5, b6, b7, b8], x) => b1.mul(exp(b2.mul(x).neg())).add(bump(b3, b4, b5, x)).add(bump(b6, b7, b8, x));
const threeDecays = ([b1, b2, b3, b4, b5, b6], x) =>
  b1.mul(exp(b2.mul(x).neg())).add(b3.mul(exp(b4.mul(x).neg()))).add(b5.mul(exp(b6.mul(x).neg())));
const wave = (cosine, sine, period, x) => {
  const angle = x.mul(2 * Math.PI).div(period);
  return cosine.mul(cos(angle)).add(sine.mul(sin(angle)));
};

/** y as a function of the parameters and the predictor. */
const MODELS = {
  Bennett5: ([b1, b2, b3], x) => b1.mul(pow(b2.add(x), reciprocal(b3).neg())),
  BoxBOD: exponential,
  Chwirut1: decay,
  Chwirut2: decay,
  DanWood: ([b1, b2], x) => b1.mul(pow(x, b2)),
  ENSO: ([b1, b2, b3, b4, b5, b6, b7, b8, b9], x) => b1.add(wave(b2, b3, 12, x)).add(wave(b5, b6, b4, x)).add(wave(b8, b9, b7, x)),
  Eckerle4: ([b1, b2, b3], x) => b1.div(b2).mul(exp(x.sub(b3).div(b2).square().mul(-0.5))),
  Gauss1: twoPeaks,
  Gauss2: twoPeaks,
  Gauss3: twoPeaks,
  Hahn1: cubicOverCubic,
  Kirby2: ([b1, b2, b3, b4, b5], x) => b1.add(b2.mul(x)).add(b3.mul(x.square())).div(b4.mul(x).add(b5.mul(x.square())).add(1)),
  Lanczos1: threeDecays,
  Lanczos2: threeDecays,
  Lanczos3: threeDecays,
  MGH09: ([b1, b2, b3, b4], x) => b1.mul(x.square().add(x.mul(b2))).div(x.square().add(x.mul(b3)).add(b4)),
  MGH10: ([b1, b2, b3], x) => b1.mul(exp(b2.div(x.add(b3)))),
  MGH17: ([b1, b2, b3, b4, b5], x) => b1.add(b2.mul(exp(x.mul(b4).neg()))).add(b3.mul(exp(x.mul(b5).neg()))),
  Misra1a: exponential,
  Misra1b: ([b1, b2], x) => b1.mul(pow(b2.mul(x).div(2).add(1), -2).neg().add(1)),
  Misra1c: ([b1, b2], x) => b1.mul(pow(b2.mul(x).mul(2).add(1), -0.5).neg().add(1)),
  Misra1d: ([b1, b2], x) => b1.mul(b2).mul(x).div(b2.mul(x).add(1)),
  Nelson: ([b1, b2, b3], x) => b1.sub(b2.mul(x.at(0)).mul(exp(b3.mul(x.at(1)).neg()))),
  Rat42: ([b1, b2, b3], x) => b1.div(exp(b2.sub(b3.mul(x))).add(1)),
  Rat43: ([b1, b2, b3, b4], x) => b1.div(pow(exp(b2.sub(b3.mul(x))).add(1), reciprocal(b4))),
  Roszman1: ([b1, b2, b3, b4], x) => b1.sub(b2.mul(x)).sub(atan(b3.div(x.sub(b4))).div(Math.PI)),
  Thurber: cubicOverCubic,
};

export const NIST = Object.keys(MODELS);

/** A file's starts, certified parameters with their standard deviations, residual sum of squares, and observations. */
export function readNist(name) {
  const text = readFileSync(new URL(`../data/nist/${name}.dat`, import.meta.url), "latin1").replaceAll("\r", "");
  const parameters = [...text.matchAll(/^ *b\d+ *=(.*)$/gm)].map(([, numbers]) => numbers.trim().split(/\s+/).map(Number));
  const [, residualSquares] = /Residual Sum of Squares: *(\S+)/.exec(text);
  const [, observations] = /^ *Data: +y.*\n([\s\S]*)/m.exec(text);
  const rows = observations.trim().split("\n").map((row) => row.trim().split(/\s+/).map(Number));
  const log = /log\[y\]/.test(text);
  return {
    starts: [0, 1].map((start) => parameters.map((row) => row[start])),
    certified: parameters.map((row) => row[2]),
    deviations: parameters.map((row) => row[3]),
    residualSquares: Number(residualSquares),
    y: Float64Array.from(rows, ([y]) => (log ? Math.log(y) : y)),
    x: Float64Array.from(rows.flatMap(([, ...x]) => x)),
    predictors: rows[0].length - 1,
  };
}

/** The fit as a user writes it: one variable of all parameters, one residual an observation. */
export function nist(lw, name, file, start) {
  const problem = lw.problem();
  const b = problem.variables("b", { shape: file.certified.length, values: file.starts[start] });
  problem.residuals("fit", { of: [b], data: { x: column(file.x, file.predictors), y: file.y } },
    ([parameters], { x, y }) => y.sub(MODELS[name](Array.from({ length: file.certified.length }, (_, k) => parameters.at(k)), x)));
  return { problem, b };
}

/** Options of `lw.fit` for so many fits of a regression, with starting values that `start` gives by the parameter's number; and its parameters' names. */
export function fitOf(name, file, fits, start) {
  const names = file.certified.map((_, k) => `b${k + 1}`), points = file.y.length, data = new Float64Array(fits * points);
  for (let fit = 0; fit < fits; fit++) data.set(file.y, fit * points);
  const predictors = Array.from({ length: file.predictors }, (_, k) => [`x${k}`, file.x.filter((_, i) => i % file.predictors === k)]);
  const model = (parameters, { x0, x1 }) => MODELS[name](parameters, x1 === undefined ? x0 : { at: (k) => [x0, x1][k] });
  const starts = Object.fromEntries(names.map((each, k) => [each, Float64Array.from({ length: fits }, () => start(k))]));
  return { names, options: { model, parameters: names, variables: Object.fromEntries(predictors), points, data, start: starts } };
}

/** −log₁₀ of the relative error of the worst parameter: how many digits are right. Those that are certified are 11. */
export function digits(found, certified) {
  return Math.min(...certified.map((value, k) => Math.min(11, -Math.log10(Math.abs(found[k] / value - 1)))));
}
