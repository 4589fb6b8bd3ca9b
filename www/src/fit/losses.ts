/** Robust losses of the page: the package's own, and their formulas to draw and to weigh points by. */
import { cauchy, gemanMcClure, huber, softL1, trivial, tukey, welsch, type Loss } from "leastwise";

export interface LossChoice { readonly name: string; readonly make: (c: number) => Loss; readonly rho: (s: number, c: number) => number; readonly slope: (s: number, c: number) => number }

export const LOSSES = {
  squares: { name: "least squares", make: trivial, rho: (s) => s, slope: () => 1 },
  huber: { name: "Huber", make: huber, rho: (s, c) => (s <= c * c ? s : 2 * c * Math.sqrt(s) - c * c), slope: (s, c) => (s <= c * c ? 1 : c / Math.sqrt(s)) },
  softL1: { name: "soft L1", make: softL1, rho: (s, c) => 2 * c * c * (Math.sqrt(1 + s / c / c) - 1), slope: (s, c) => 1 / Math.sqrt(1 + s / c / c) },
  cauchy: { name: "Cauchy", make: cauchy, rho: (s, c) => c * c * Math.log(1 + s / c / c), slope: (s, c) => 1 / (1 + s / c / c) },
  gemanMcClure: { name: "Geman–McClure", make: gemanMcClure, rho: (s, c) => s / (1 + s / c / c), slope: (s, c) => 1 / (1 + s / c / c) ** 2 },
  welsch: { name: "Welsch", make: welsch, rho: (s, c) => c * c * (1 - Math.exp(-s / c / c)), slope: (s, c) => Math.exp(-s / c / c) },
  tukey: { name: "Tukey", make: tukey, rho: (s, c) => (s <= c * c ? (c * c * (1 - (1 - s / c / c) ** 3)) / 3 : (c * c) / 3), slope: (s, c) => (s <= c * c ? (1 - s / c / c) ** 2 : 0) },
} satisfies { readonly [id: string]: LossChoice };

export type LossId = keyof typeof LOSSES;
export const lossOf = (id: string): LossChoice => (LOSSES as { [id: string]: LossChoice })[Object.hasOwn(LOSSES, id) ? id : "squares"]!;
