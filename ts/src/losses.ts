/** Built-in losses. Generated from `src/program/losses/` (`npm run generate`), and held to it by a test. */
import { atMost, builtIn, NOT_NEGATIVE, SCALE, type Loss } from "./loss.js";

/**
 * s for ‖r‖ ≤ δ, then 2δ‖r‖ − δ²: squares within δ, lengths beyond.
 *
 * @throws `invalid-option` unless `delta` is a number from 1e-9 to 1e9
 * @example
 * const term = problem.residuals("fit", { of: [scale], loss: huber(1) }, ([s]) => s.sub(1));
 * term.set({ loss: huber(0.1) });  // live, without compiling
 */
export function huber(delta: number): Loss { return builtIn(1, "huber", [["delta", delta, SCALE]]); }

/**
 * 2c²(√(1 + s/c²) − 1): squares within c, lengths beyond, smoothly.
 *
 * @throws `invalid-option` unless `c` is a number from 1e-9 to 1e9
 * @example
 * problem.residuals("fit", { of: [scale], loss: softL1(0.5) }, ([s]) => s.sub(1));
 */
export function softL1(c: number): Loss { return builtIn(2, "softL1", [["c", c, SCALE]]); }

/**
 * c² ln(1 + s/c²): grows like the logarithm of the length.
 *
 * @throws `invalid-option` unless `c` is a number from 1e-9 to 1e9
 * @example
 * problem.residuals("fit", { of: [scale], loss: cauchy(0.05) }, ([s]) => s.sub(1));
 */
export function cauchy(c: number): Loss { return builtIn(3, "cauchy", [["c", c, SCALE]]); }

/**
 * a arctan(s/a): at most aπ/2. Mind that `a` is compared with s, not with ‖r‖.
 *
 * @throws `invalid-option` unless `a` is a number from 1e-9 to 1e9
 * @example
 * problem.residuals("fit", { of: [scale], loss: arctan(0.5) }, ([s]) => s.sub(1));
 */
export function arctan(a: number): Loss { return builtIn(4, "arctan", [["a", a, SCALE]]); }

/**
 * c²(1 − (1 − s/c²)³)/3 for ‖r‖ ≤ c, then c²/3: outliers have no say at all.
 *
 * @throws `invalid-option` unless `c` is a number from 1e-9 to 1e9
 * @example
 * problem.residuals("fit", { of: [scale], loss: tukey(4.685) }, ([s]) => s.sub(1));
 */
export function tukey(c: number): Loss { return builtIn(5, "tukey", [["c", c, SCALE]]); }

/**
 * s/(1 + s/c²): at most c².
 *
 * @throws `invalid-option` unless `c` is a number from 1e-9 to 1e9
 * @example
 * problem.residuals("fit", { of: [scale], loss: gemanMcClure(0.5) }, ([s]) => s.sub(1));
 */
export function gemanMcClure(c: number): Loss { return builtIn(6, "gemanMcClure", [["c", c, SCALE]]); }

/**
 * c²(1 − e^(−s/c²)): at most c².
 *
 * @throws `invalid-option` unless `c` is a number from 1e-9 to 1e9
 * @example
 * problem.residuals("fit", { of: [scale], loss: welsch(2) }, ([s]) => s.sub(1));
 */
export function welsch(c: number): Loss { return builtIn(7, "welsch", [["c", c, SCALE]]); }

/**
 * b ln(1 + e^((s − a)/b)) − b ln(1 + e^(−a/b)): next to nothing until s comes to a, then s − a; b says how sharply one
 * becomes the other. Mind that both are compared with s, not with ‖r‖.
 *
 * @throws `invalid-option` unless `a` is 0 or more and `b` is a number from 1e-9 to 1e9
 * @example
 * problem.residuals("fit", { of: [scale], loss: tolerant(1, 0.1) }, ([s]) => s.sub(1));
 */
export function tolerant(a: number, b: number): Loss { return builtIn(8, "tolerant", [["a", a, NOT_NEGATIVE], ["b", b, SCALE]]); }

/**
 * Barron's general loss, 2c² |α − 2|/α ((s/(c²|α − 2|) + 1)^(α/2) − 1) and its limits: s for α = 2, {@link softL1} for 1,
 * {@link cauchy} for 0, {@link gemanMcClure} for −2, {@link welsch} for `-Infinity`; for the last three c is that of the
 * other times √½, ½ and √½. α may change from one to the other while a problem is being solved.
 *
 * @throws `invalid-option` unless `alpha` is at most 1e6 or `-Infinity` and `c` is a number from 1e-9 to 1e9
 * @example
 * problem.residuals("fit", { of: [scale], loss: barron(-2, 0.5) }, ([s]) => s.sub(1));  // Geman and McClure's
 */
export function barron(alpha: number, c: number): Loss { return builtIn(9, "barron", [["alpha", alpha, atMost(1e6)], ["c", c, SCALE]]); }
