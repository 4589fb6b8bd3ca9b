// Every kind of problem once, small: what methods, backends and precisions are compared on. Each entry makes its problem on
// an engine and gives the tables that are solved for.
import { arap, arapMesh, icosphere } from "../problems.mjs";
import { bundle, randomBundle } from "./bundle.mjs";
import { dampedWave, gaussians } from "./fits.mjs";
import { MORE_GARBOW_HILLSTROM, moreGarbowHillstrom } from "./more-garbow-hillstrom.mjs";
import { NIST, nist, readNist } from "./nist.mjs";
import { poseGraph, randomSphere } from "./pose-graph.mjs";
import { cotangentSmoothing, developability, fairing, roughSphere, springs } from "./surfaces.mjs";

const arapOf = (level) => (lw) => {
  const { problem, x, turn } = arap(lw, arapMesh(icosphere(level)));
  return { problem, tables: [x, turn] };
};

const scenes = [
  { name: "as rigid as possible", make: arapOf(2) },
  { name: "springs", make: (lw) => springs(lw, roughSphere(2, 1)) },
  { name: "cotangent smoothing", make: (lw) => cotangentSmoothing(lw, roughSphere(2, 2)) },
  { name: "fairing", make: (lw) => fairing(lw, roughSphere(2, 3)) },
  { name: "developability", make: (lw) => developability(lw, roughSphere(1, 4)) },
  { name: "damped wave", make: (lw) => dampedWave(lw, 5) },
  { name: "many Gaussians", make: (lw) => gaussians(lw, 6) },
  { name: "bundle adjustment", make: (lw) => { const { problem, camera, point } = bundle(lw, randomBundle(7)); return { problem, tables: [camera, point] }; } },
  { name: "pose graph", make: (lw) => { const { problem, pose } = poseGraph(lw, randomSphere(8)); return { problem, tables: [pose] }; } },
];

const regressions = NIST.flatMap((name) => [0, 1].map((start) => ({
  name: `NIST ${name} from start ${start + 1}`,
  make: (lw) => { const { problem, b } = nist(lw, name, readNist(name), start); return { problem, tables: [b] }; },
})));

const functions = MORE_GARBOW_HILLSTROM.map((entry) => ({
  name: `Moré ${entry.name}`,
  make: (lw) => { const { problem, x } = moreGarbowHillstrom(lw, entry); return { problem, tables: [x] }; },
}));

export const SCENES = scenes;
export const SUITE = [...scenes, ...regressions, ...functions];
