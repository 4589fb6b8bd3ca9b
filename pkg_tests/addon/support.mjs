// Engines as ranks of one world, for the tests of the addon.
import { init } from "leastwise";
import { arapMesh, icosphere } from "../node/support.mjs";

/** A mesh that solves of ranks share, and how they solve it. */
export const mesh = arapMesh(icosphere(2));
export const PCG = { linear: "pcg", preconditioner: "block-jacobi", forcing: 1e-3 };

/** Options of tests for the addon's CPU, whose engines are ranks in one process. */
export const onCpu = { skip: process.env.LEASTWISE_ADDON !== "cpu" };

/** Engines of the ranks of a new world. */
export async function ranks(t, size, options = {}) {
  const id = crypto.getRandomValues(new Uint8Array(128));
  const engines = await Promise.all(Array.from({ length: size }, (_, rank) => init({ backend: "cuda", ...options, world: { rank, size, id } })));
  t.after(() => engines.forEach((lw) => lw.dispose()));
  return engines;
}
