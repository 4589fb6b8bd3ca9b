/** Names of methods and preconditioners. Generated from `src/solve/` (`npm run generate`), and held to it by a test. */

/** @internal */
export const METHODS = ["lm", "gauss-newton", "newton", "dogleg", "lbfgs", "nonlinear-cg", "gradient-descent", "adam"] as const;

/** @internal */
export const PRECONDITIONERS = ["auto", "block-jacobi", "two-level", "schur-jacobi", "frozen-factor"] as const;
