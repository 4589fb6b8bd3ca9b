/** Models of fits that are often wanted, with starting values from the data: options of `lw.fit`, to be spread and added to. */
import { taken, type Typed } from "./arrays.js";
import { LeastwiseError } from "./errors.js";
import { cos, exp, reciprocal, sin } from "./functions.js";
import type { FitBase } from "./fit.js";
import { checked, given as any, oneOf, whole } from "./options.js";
import type { Scalar } from "./scalar.js";

/**
 * Curves: the places x that all have their points at, and data, curve after curve.
 *
 * @example
 * const curves: FitCurves = { x: [0, 1, 2, 3, 4], data: [0, 1, 4, 1, 0, 1, 5, 1, 0, 0] };
 * const { values } = await lw.fit(fitModels.gaussian(curves));
 */
export interface FitCurves { readonly x: ArrayLike<number>; readonly data: ArrayLike<number> }

/**
 * Images of some width and height, row by row, image after image. Pixel (0, 0) has its centre at x = 0, y = 0.
 *
 * @example
 * const spots: FitImages = { width: 5, height: 5, data: new Float32Array(25 * 1000) };
 */
export interface FitImages { readonly width: number; readonly height: number; readonly data: ArrayLike<number> }

/**
 * Options of `lw.fit` as a built-in model has them.
 *
 * @example
 * const decays: FitModel<readonly ["amplitude", "rate", "offset"], "x"> = fitModels.exponential({ x: [0, 1, 2, 3], data: [9, 5, 3, 2] });
 * const { values } = await lw.fit({ ...decays, maxIterations: 30 });
 */
export type FitModel<Names extends readonly string[], Variable extends string> = Pick<FitBase<Names, Variable>, "model" | "parameters" | "points" | "data" | "start" | "lower"> & {
  readonly variables: { readonly [V in Variable]: ArrayLike<number> };
};

const PROFILE = ["area", "center", "sigma", "gamma", "offset"] as const;
const PEAK = ["amplitude", "center", "width", "offset"] as const, VOIGT = ["amplitude", "center", "width", "mixing", "offset"] as const;
const DECAY = ["amplitude", "rate", "offset"] as const, STEP = ["amplitude", "center", "rate", "offset"] as const;
const ROUND = ["amplitude", "x", "y", "width", "offset"] as const, ELLIPTIC = ["amplitude", "x", "y", "widthX", "widthY", "offset"] as const;
const ROTATED = ["amplitude", "x", "y", "widthX", "widthY", "angle", "offset"] as const;

const CURVES = { x: any(), data: any() } as const, IMAGES = { width: whole(2, 4096), height: whole(2, 4096), data: any() } as const;

/** Data of curves, looked at, and a starting value of each parameter for each. */
function curves<const Names extends readonly string[]>(call: string, parameters: Names, options: FitCurves, estimate: (x: Typed, y: Typed) => readonly number[]) {
  const found = checked(`${call}: options`, options, CURVES);
  const x = taken(`${call}: x`, found.x).values, data = taken(`${call}: data`, found.data).values;
  if (x.length < 2) throw new LeastwiseError("data-length", `${call}: x has ${x.length} values, but a curve has two points or more`);
  return { parameters, points: x.length, data, variables: { x }, start: starts(call, parameters, data, x.length, (y) => estimate(x, y)) };
}

/** A column for each parameter. What can't be told of data that are not finite is 1. */
function starts<const Names extends readonly string[]>(call: string, parameters: Names, data: Typed, points: number, estimate: (y: Typed) => readonly number[]) {
  if (data.length === 0 || data.length % points !== 0) throw new LeastwiseError("data-length", `${call}: data has ${data.length} values, which is no multiple of ${points} points`);
  const fits = data.length / points, columns = parameters.map(() => new Float64Array(fits));
  for (let fit = 0; fit < fits; fit++) {
    const found = estimate(data.subarray(fit * points, (fit + 1) * points));
    columns.forEach((column, k) => { column[fit] = Number.isFinite(found[k]) ? found[k]! : 1; });
  }
  return Object.fromEntries(parameters.map((name, k) => [name, columns[k]!])) as { [N in Names[number]]: Float64Array };
}

/** Lowest and highest value, and where the highest is. */
function range(y: Typed): { low: number; high: number; top: number } {
  let low = Infinity, high = -Infinity, top = 0;
  for (let k = 0; k < y.length; k++) {
    low = Math.min(low, y[k]!);
    if (y[k]! > high) { high = y[k]!; top = k; }
  }
  return { low, high, top };
}

/** Half of what x moves from the point before to the one after. */
const stretch = (x: Typed, k: number) => Math.abs(x[Math.min(k + 1, x.length - 1)]! - x[Math.max(k - 1, 0)]!) / (k === 0 || k === x.length - 1 ? 1 : 2);

/** Height above the lowest value, centre of what is above half of it, and how wide that is. */
function peak(x: Typed, y: Typed): { amplitude: number; center: number; full: number; offset: number } {
  const { low, high, top } = range(y), half = (low + high) / 2;
  let full = 0, weight = 0, sum = 0;
  // What is connected to the top: other peaks do not count.
  let [begin, end] = [top, top];
  while (begin > 0 && y[begin - 1]! > half) begin--;
  while (end < y.length - 1 && y[end + 1]! > half) end++;
  for (let k = begin; k <= end; k++) {
    full += stretch(x, k);
    weight += y[k]! - half;
    sum += (y[k]! - half) * x[k]!;
  }
  return { amplitude: high - low, center: weight > 0 ? sum / weight : x[top]!, full, offset: low };
}

/** Full width at half maximum of a Gaussian, over its standard deviation. */
const FWHM = 2 * Math.sqrt(2 * Math.LN2);

function gaussian(options: FitCurves): FitModel<typeof PEAK, "x"> {
  const made = curves("fitModels.gaussian(options)", PEAK, options, (x, y) => {
    const { amplitude, center, full, offset } = peak(x, y);
    return [amplitude, center, full / FWHM, offset];
  });
  return { ...made, model: ([a, m, s, b], { x }) => a.mul(exp(x.sub(m).div(s).square().mul(-0.5))).add(b) };
}

function lorentzian(options: FitCurves): FitModel<typeof PEAK, "x"> {
  const made = curves("fitModels.lorentzian(options)", PEAK, options, (x, y) => {
    const { amplitude, center, full, offset } = peak(x, y);
    return [amplitude, center, full / 2, offset];
  });
  return { ...made, model: ([a, m, g, b], { x }) => a.div(x.sub(m).div(g).square().add(1)).add(b) };
}

function pseudoVoigt(options: FitCurves): FitModel<typeof VOIGT, "x"> {
  const made = curves("fitModels.pseudoVoigt(options)", VOIGT, options, (x, y) => {
    const { amplitude, center, full, offset } = peak(x, y);
    return [amplitude, center, full, 0.5, offset];
  });
  return {
    ...made,
    model: ([a, m, w, eta, b], { x }) => {
      const square = x.sub(m).div(w).square().mul(4), bell = exp(square.mul(-Math.LN2));
      return a.mul(bell.add(eta.mul(reciprocal(square.add(1)).sub(bell)))).add(b);
    },
  };
}

/** Terms of {@link faddeeva}. */
const TERMS = 32;

/** Its scale and coefficients, the highest first: Fourier coefficients of exp(−t²) (L² + t²) on a circle. */
function coefficients(): { readonly scale: number; readonly terms: readonly number[] } {
  const half = 2 * TERMS, scale = Math.sqrt(TERMS / Math.SQRT2), terms: number[] = [];
  for (let n = TERMS; n >= 1; n--) {
    let sum = 0;
    for (let k = 1 - half; k < half; k++) {
      const t = scale * Math.tan((k * Math.PI) / half / 2);
      sum += Math.exp(-t * t) * (scale * scale + t * t) * Math.cos((n * k * Math.PI) / half);
    }
    terms.push(sum / (2 * half));
  }
  return { scale, terms };
}

/** Re w(x + iy), y ≥ 0, of Faddeeva's function w(z) = exp(−z²) erfc(−iz), to 4·10⁻¹⁴ (Weideman, SIAM J. Numer. Anal. 31, 1994, with 32 terms). */
function faddeeva(x: Scalar, y: Scalar): Scalar {
  const { scale, terms } = coefficients(), above = y.add(scale), below = y.neg().add(scale);
  // 1/(L − iz), and Z = (L + iz)/(L − iz).
  const size = above.square().add(x.square()), r = above.div(size), s = x.div(size);
  const [zr, zi] = [below.mul(r).sub(x.mul(s)), below.mul(s).add(x.mul(r))];
  let [pr, pi] = [zr.mul(terms[0]!).add(terms[1]!), zi.mul(terms[0]!)];
  for (const term of terms.slice(2)) [pr, pi] = [pr.mul(zr).sub(pi.mul(zi)).add(term), pr.mul(zi).add(pi.mul(zr))];
  return pr.mul(r.square().sub(s.square())).sub(pi.mul(r).mul(s).mul(2)).mul(2).add(r.mul(1 / Math.sqrt(Math.PI)));
}

/** Width of Voigt's profile over that of its parts, where these are equal (Olivero & Longbothum 1977); and Re w(iγ/(σ√2)) there. */
const EQUAL = 0.5346 + Math.sqrt(1.2166), AT_CENTER = 0.478064;

function voigt(options: FitCurves): FitModel<typeof PROFILE, "x"> {
  const made = curves("fitModels.voigt(options)", PROFILE, options, (x, y) => {
    const { amplitude, center, full, offset } = peak(x, y), each = full / EQUAL, sigma = each / FWHM;
    return [(amplitude * sigma * Math.sqrt(2 * Math.PI)) / AT_CENTER, center, sigma, each / 2, offset];
  });
  const { x } = made.variables, { low, high } = range(x);
  return {
    ...made, lower: { sigma: (1e-4 * (high - low)) / x.length, gamma: 0 },
    model: ([a, m, s, g, b], { x }) => {
      const scale = reciprocal(s.mul(Math.SQRT2));
      return a.mul(faddeeva(x.sub(m).mul(scale), g.mul(scale))).mul(scale.mul(1 / Math.sqrt(Math.PI))).add(b);
    },
  };
}

/** Values of all B-splines of a degree on knots at x (de Boor 1972). */
function basis(knots: readonly number[], degree: number, x: number): number[] {
  const last = knots.length - degree - 2;
  let span = degree;
  while (span < last && x >= knots[span + 1]!) span++;
  const values = new Array<number>(last + 1).fill(0), part = [1];
  for (let k = 1; k <= degree; k++) {
    let left = 0;
    for (let j = 0; j < k; j++) {
      const [low, high] = [knots[span + 1 + j - k]!, knots[span + 1 + j]!], share = part[j]! / (high - low);
      part[j] = left + (high - x) * share;
      left = (x - low) * share;
    }
    part.push(left);
  }
  part.forEach((value, j) => { values[span - degree + j] = value; });
  return values;
}

function spline(options: FitCurves & { readonly knots: ArrayLike<number>; readonly degree?: number }): FitModel<readonly string[], string> {
  const call = "fitModels.spline(options)", { degree = 3, knots: given, ...rest } = checked(`${call}: options`, options, { ...CURVES, knots: any(), degree: whole(1, 5) });
  const inner = Array.from(taken(`${call}: knots`, given).values), x = taken(`${call}: x`, rest.x).values;
  const { low, high } = range(x), count = inner.length + degree + 1;
  if (!inner.every((knot, k) => knot > (inner[k - 1] ?? low) && knot < high)) throw new LeastwiseError("invalid-option", `${call}: knots must ascend between the least x (${low}) and the greatest (${high})`);
  const knots = [...new Array<number>(degree + 1).fill(low), ...inner, ...new Array<number>(degree + 1).fill(high)];
  const names = Array.from({ length: count }, (_, k) => `c${k}`), variables: { [name: string]: Float64Array } = {};
  const rows = Array.from(x, (x) => basis(knots, degree, x));
  for (let k = 0; k < count; k++) variables[`b${k}`] = Float64Array.from(rows, (row) => row[k]!);
  // Linear in all parameters: one step from anywhere is the solution.
  const made = curves(call, names, rest as FitCurves, () => names.map(() => 0));
  return { ...made, variables, model: (c, b) => c.map((each, k) => each.mul(b[`b${k}`]!)).reduce((sum, each) => sum.add(each)) };
}

/** y = y₀ + A (x − x₀) + B ∫y, of which the rate is −B (Jacquelin, *Régressions et équations intégrales*, 2009). */
function decay(x: Typed, y: Typed): readonly number[] {
  let [integral, xx, xs, ss, xy, sy] = [0, 0, 0, 0, 0, 0];
  for (let k = 1; k < x.length; k++) {
    integral += ((y[k]! + y[k - 1]!) / 2) * (x[k]! - x[k - 1]!);
    const [u, v] = [x[k]! - x[0]!, y[k]! - y[0]!];
    xx += u * u;
    xs += u * integral;
    ss += integral * integral;
    xy += u * v;
    sy += integral * v;
  }
  const rate = -(xx * sy - xs * xy) / (xx * ss - xs * xs);
  // Amplitude and offset are linear.
  let [e, ee, sum, ey] = [0, 0, 0, 0];
  for (let k = 0; k < x.length; k++) {
    const each = Math.exp(-rate * x[k]!);
    e += each;
    ee += each * each;
    sum += y[k]!;
    ey += each * y[k]!;
  }
  const amplitude = (x.length * ey - e * sum) / (x.length * ee - e * e);
  return [amplitude, rate, (sum - amplitude * e) / x.length];
}

function exponential(options: FitCurves): FitModel<typeof DECAY, "x"> {
  return { ...curves("fitModels.exponential(options)", DECAY, options, decay), model: ([a, k, b], { x }) => a.mul(exp(k.mul(x).neg())).add(b) };
}

function logistic(options: FitCurves): FitModel<typeof STEP, "x"> {
  const made = curves("fitModels.logistic(options)", STEP, options, (x, y) => {
    const { low, high } = range(y), half = (low + high) / 2, rises = y[y.length - 1]! >= y[0]! ? 1 : -1;
    let [center, inside] = [x[x.length >> 1]!, 0];
    for (let k = 0; k < y.length; k++) {
      // The middle half of the step is 2 ln 3 over the rate wide.
      if (y[k]! > low + (high - low) / 4 && y[k]! < high - (high - low) / 4) inside += stretch(x, k);
      if (k > 0 && (y[k]! - half) * (y[k - 1]! - half) <= 0) center = (x[k]! + x[k - 1]!) / 2;
    }
    const wide = Math.max(inside, stretch(x, x.length >> 1) / 2);
    return [high - low, center, (rises * 2 * Math.log(3)) / wide, low];
  });
  return { ...made, model: ([a, m, k, b], { x }) => a.div(exp(k.mul(x.sub(m)).neg()).add(1)).add(b) };
}

function polynomial(options: FitCurves & { readonly degree: number }): FitModel<readonly string[], "x"> {
  const call = "fitModels.polynomial(options)", { degree: asked, ...rest } = checked(`${call}: options`, options, { ...CURVES, degree: whole(0, 11) });
  if (asked === undefined) throw new LeastwiseError("invalid-option", `${call}: degree is missing`);
  const names = Array.from({ length: asked + 1 }, (_, k) => `c${k}`);
  // Linear in all parameters: one step from anywhere is the solution.
  const made = curves(call, names, rest as FitCurves, () => names.map(() => 0));
  return { ...made, model: (c, { x }) => c.slice(0, -1).reduceRight((sum: Scalar, each) => sum.mul(x).add(each), c[c.length - 1]!) };
}

/** Moments of the pixels of an image above half of its height. */
function spot(width: number, y: Typed): { amplitude: number; offset: number; pixels: number; at: readonly [number, number]; moments: readonly [number, number, number] } {
  const { low, high, top } = range(y), half = (low + high) / 2;
  let [pixels, weight, sx, sy, xx, yy, xy] = [0, 0, 0, 0, 0, 0, 0];
  for (let k = 0; k < y.length; k++) {
    const w = y[k]! - half;
    if (!(w > 0)) continue;
    const [u, v] = [k % width, Math.floor(k / width)];
    pixels++;
    weight += w;
    sx += w * u;
    sy += w * v;
    xx += w * u * u;
    yy += w * v * v;
    xy += w * u * v;
  }
  if (!(weight > 0)) return { amplitude: 0, offset: low, pixels: 1, at: [top % width, Math.floor(top / width)], moments: [1, 1, 0] };
  const [mx, my] = [sx / weight, sy / weight];
  return { amplitude: high - low, offset: low, pixels, at: [mx, my], moments: [xx / weight - mx * mx, yy / weight - my * my, xy / weight - mx * my] };
}

/** Standard deviations of an ellipse: those of the area above half of the height, in the proportion of its moments. */
function widths(pixels: number, a: number, b: number): [number, number] {
  const mean = Math.sqrt(pixels / (2 * Math.PI * Math.LN2)), ratio = Math.min(Math.max(Math.sqrt(Math.max(a, 1e-3) / Math.max(b, 1e-3)), 0.2), 5);
  return [mean * Math.sqrt(ratio), mean / Math.sqrt(ratio)];
}

/** Which of the shapes a spot has. */
type Shape = "round" | "elliptic" | "rotated";
type NamesOf<S extends Shape> = S extends "round" ? typeof ROUND : S extends "elliptic" ? typeof ELLIPTIC : typeof ROTATED;

function gaussian2d<S extends Shape = "round">(options: FitImages & { readonly shape?: S }): FitModel<NamesOf<S>, "u" | "v"> {
  const call = "fitModels.gaussian2d(options)";
  const { width, height, data: given, shape = "round" } = checked(`${call}: options`, options, { ...IMAGES, shape: oneOf("round", "elliptic", "rotated") });
  if (width === undefined || height === undefined) throw new LeastwiseError("invalid-option", `${call}: say how wide and how high images are`);
  const data = taken(`${call}: data`, given).values, points = width * height;
  const u = Float64Array.from({ length: points }, (_, k) => k % width), v = Float64Array.from({ length: points }, (_, k) => Math.floor(k / width));
  const parameters = { round: ROUND, elliptic: ELLIPTIC, rotated: ROTATED }[shape];
  const start = starts(call, parameters, data, points, (y) => {
    const { amplitude, offset, pixels, at, moments: [xx, yy, xy] } = spot(width, y);
    if (shape === "round") return [amplitude, ...at, widths(pixels, 1, 1)[0], offset];
    if (shape === "elliptic") return [amplitude, ...at, ...widths(pixels, xx, yy), offset];
    const angle = 0.5 * Math.atan2(2 * xy, xx - yy), mean = (xx + yy) / 2, apart = Math.hypot((xx - yy) / 2, xy);
    return [amplitude, ...at, ...widths(pixels, mean + apart, mean - apart), angle, offset];
  });
  const model = (p: readonly Scalar[], { u, v }: { readonly u: Scalar; readonly v: Scalar }): Scalar => {
    const [a, x, y, s] = p as readonly [Scalar, Scalar, Scalar, Scalar], t = p[4]!, offset = p[p.length - 1]!;
    const [du, dv] = [u.sub(x), v.sub(y)];
    if (shape === "round") return a.mul(exp(du.square().add(dv.square()).div(s.square()).mul(-0.5))).add(offset);
    const [c, n] = shape === "rotated" ? [cos(p[5]!), sin(p[5]!)] : [undefined, undefined];
    const along = c ? c.mul(du).add(n.mul(dv)) : du, across = c ? c.mul(dv).sub(n.mul(du)) : dv;
    return a.mul(exp(along.div(s).square().add(across.div(t).square()).mul(-0.5))).add(offset);
  };
  return { model, parameters, points, data, variables: { u, v }, start } as unknown as FitModel<NamesOf<S>, "u" | "v">;
}

/**
 * Models with starting values from the data, as options of `lw.fit`:
 *
 * - `gaussian`: a exp(−½ ((x − center)/width)²) + offset; `lorentzian`: a / (1 + ((x − center)/width)²) + offset;
 * - `pseudoVoigt`: a (η L + (1 − η) G) + offset, where L and G have the full width at half maximum `width`, and η is `mixing` (Thompson, Cox
 *   & Hastings 1987): an approximation of Voigt's profile;
 * - `voigt`: area V(x − center; sigma, gamma) + offset, with Voigt's profile as `scipy.special.voigt_profile` has it, to 4·10⁻¹⁴ of its height
 *   (Weideman 1994); `lower` keeps sigma positive and gamma at 0 or above;
 * - `exponential`: a exp(−rate x) + offset; `logistic`: a / (1 + exp(−rate (x − center))) + offset; `polynomial`: Σ cₖ xᵏ of a `degree`;
 * - `spline`: Σ cₖ Bₖ(x), B-splines of a `degree` (default: 3) with inner `knots`, as `scipy.interpolate.LSQUnivariateSpline` takes them: c0 … are the
 *   coefficients of `BSpline` on knots that begin and end with degree + 1 times the least and the greatest x; at most 32;
 * - `gaussian2d`: spots of a `shape`, `"round"`, `"elliptic"` or `"rotated"` (by `angle`, from x to y).
 *
 * @throws `invalid-option` for other options; `data-length` where data are no whole number of curves or images
 * @example
 * const spots = await lw.fit({ ...fitModels.gaussian2d({ width: 5, height: 5, data: new Float32Array(50).fill(1) }), likelihood: "poisson" });
 * console.log(spots.values.x, spots.values.y, spots.standardErrors.x);
 */
export const fitModels = /* @__PURE__ */ Object.freeze({ gaussian, lorentzian, pseudoVoigt, voigt, exponential, logistic, polynomial, spline, gaussian2d });
