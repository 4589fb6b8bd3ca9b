// `npm run bench -- sketches`: a sketch of 500 points and some 1,000 constraints on the CPU in wasm: building and the first solve, steps of a drag,
// and diagnosis, of a strip of triangles and of a grid. Targets: 10 ms a step of a drag, 50 ms a diagnosis. Medians; CPU time beside what the clock says.
import { performance } from "node:perf_hooks";
import { init } from "leastwise";
import { sketch } from "leastwise/sketch";
import { machine } from "./lib/machine.mjs";

const REPEATS = 41;

const bar = (s, a, b) => s.distance(a, b, Math.hypot(a.x - b.x, a.y - b.y));

/** A strip of triangles, one end fixed. */
function strip(s, n) {
  const points = Array.from({ length: n }, (_, k) => s.point(Math.floor(k / 2) + 0.1 * Math.sin(k), (k % 2) + 0.1 * Math.cos(3 * k)));
  s.fix(points[0]);
  for (let k = 1; k < n; k++) {
    bar(s, points[k - 1], points[k]);
    if (k > 1 && k < n - 1) bar(s, points[k - 2], points[k]);
  }
  return points.at(-1);
}

/** A square grid of bars, one corner fixed: it shears. */
function grid(s, side) {
  const points = Array.from({ length: side }, (_, i) => Array.from({ length: side }, (_, j) => s.point(i + 0.1 * Math.sin(3 * i + j), j + 0.1 * Math.cos(i + 2 * j))));
  s.fix(points[0][0]);
  for (let i = 0; i < side; i++) for (let j = 0; j < side; j++) {
    if (i + 1 < side) bar(s, points[i][j], points[i + 1][j]);
    if (j + 1 < side) bar(s, points[i][j], points[i][j + 1]);
  }
  return points.at(-1).at(-1);
}

const median = (numbers) => [...numbers].sort((a, b) => a - b)[numbers.length >> 1];

async function timed(work) {
  const cpu = process.cpuUsage(), started = performance.now(), result = await work(), ms = performance.now() - started, { user, system } = process.cpuUsage(cpu);
  return { result, ms, cpuMs: (user + system) / 1000 };
}

export async function sketches() {
  const host = machine(), lw = await init({ backend: "cpu" });
  console.log(`${host.cpu}, node ${host.node}; ${host.commit}; load average ${host.loadAverage.toFixed(1)}; milliseconds, in brackets of CPU time`);
  const shown = (of) => `${median(of.map(({ ms }) => ms)).toFixed(1)} (${median(of.map(({ cpuMs }) => cpuMs)).toFixed(1)})`;
  for (const [name, make, size] of [["strip", strip, 500], ["grid", grid, 22]]) {
    const first = [], rest = [], drags = [], diagnoses = [], steps = [];
    let last;
    for (let k = 0; k < 5; k++) {
      const s = sketch(lw), tip = make(s, size);
      first.push(await timed(() => s.solve()));
      last = first.at(-1).result;
      // What diagnosis adds to a solve at rest: a value that is set to what it was asks for another one.
      const [any] = [s.distance(tip, s.point(tip.x + 1, tip.y), 1)];
      await s.solve();
      for (let q = 0; q < REPEATS / 5; q++) {
        any.value = 1;
        const plain = await timed(() => s.solve({ diagnose: false })), full = await timed(() => s.solve());
        rest.push(plain);
        diagnoses.push({ ms: full.ms - plain.ms, cpuMs: full.cpuMs - plain.cpuMs });
      }
      for (let q = 0; q < REPEATS / 5; q++) {
        s.drag(tip, tip.x + 0.03, tip.y + 0.05);
        drags.push(await timed(() => s.solve()));
        steps.push(drags.at(-1).result.counts.steps);
      }
      s.dispose();
    }
    const { counts, degreesOfFreedom } = last;
    console.log(`${name}: ${counts.eliminated} equations, ${degreesOfFreedom} degrees of freedom, ${counts.operations} multiply–adds\n  build and first solve ${shown(first)}\n  solve at rest ${shown(rest)}\n  diagnosis ${shown(diagnoses)}\n  step of a drag ${shown(drags)}, ${median(steps)} steps of the solver`);
  }
  lw.dispose();
}
