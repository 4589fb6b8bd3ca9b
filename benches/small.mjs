// `npm run bench -- small [--seconds=2]`: microseconds a step of small problems on the CPU, one thread: inverse kinematics of 30 joints, and one instance of
// a thousand unknowns. A step of a solve is the time of a solve over its steps, report included; `step()` and `advance()` follow a target that moves before
// each of them. The least of several rounds is what the machine can do, the median what it did.
import { performance } from "node:perf_hooks";
import { column, cos, init, sin, vec, vector } from "leastwise";
import { median } from "./lib/engine.mjs";
import { machine } from "./lib/machine.mjs";

/** Nothing ends by itself. */
const ENDLESS = { costTolerance: 0, gradientTolerance: 0, stepTolerance: 0 };
const JOINTS = 30, LINK = 1 / JOINTS;

/** Targets on a circle that the arm reaches. */
const target = (k) => [0.5 + 0.2 * Math.cos(0.1 * k), 0.3 + 0.2 * Math.sin(0.1 * k), 0.2 + 0.1 * Math.sin(0.05 * k)];

/** A planar arm: place of the hand and the direction that it points to, 3 rows. */
const planar = (joints, goal) => {
  let angle = 0, x = 0, y = 0;
  for (const joint of joints) {
    angle = joint.add(angle);
    x = cos(angle).mul(LINK).add(x);
    y = sin(angle).mul(LINK).add(y);
  }
  return vec(x, y, angle).sub(goal);
};

/** An arm in space whose joints turn about z, y and x by turns: place of the hand, 3 rows. */
const spatial = (joints, goal) => {
  // From the hand back, so that a joint turns one vector and not three.
  const zero = joints[0].mul(0);
  let [x, y, z] = [zero.add(LINK), zero, zero];
  for (let k = joints.length - 1; k >= 0; k--) {
    const c = cos(joints[k]), s = sin(joints[k]), turn = (a, b) => [c.mul(a).sub(s.mul(b)), s.mul(a).add(c.mul(b))];
    if (k % 3 === 0) [x, y] = turn(x, y);
    else if (k % 3 === 1) [z, x] = turn(z, x);
    else [y, z] = turn(y, z);
    x = x.add(LINK);
  }
  return vec(x, y, z).sub(goal);
};

function arm(lw, hand, rest) {
  const problem = lw.problem(), start = new Float64Array(JOINTS).fill(0.05);
  const joint = problem.variables("joint", { shape: JOINTS, values: start });
  const term = problem.residuals("hand", { of: [joint], data: { goal: column(target(0), 3) } }, ([q], { goal }) => hand(Array.from({ length: JOINTS }, (_, k) => q.at(k)), goal));
  if (rest) problem.residuals("rest", { of: [joint], weight: 1e-4 }, ([q]) => q);
  return { problem, x: joint, start, edit: (k) => term.set({ goal: column(target(k), 3) }) };
}

/** Extended Rosenbrock as one instance: 1,000 unknowns, 1,000 rows. */
function rosenbrock(lw, n) {
  const problem = lw.problem(), start = Float64Array.from({ length: n }, (_, k) => (k % 2 ? 1 : -1.2));
  const x = problem.variables("x", { shape: n, values: start });
  problem.residuals("rosenbrock", { of: [x] }, ([x]) => vector(Array.from({ length: n / 2 }, (_, k) => [x.at(2 * k + 1).sub(x.at(2 * k).mul(x.at(2 * k))).mul(10), x.at(2 * k).mul(-1).add(1)]).flat()));
  return { problem, x, start };
}

/** Least and median microseconds of rounds that fill some seconds. */
async function rounds(seconds, round) {
  const taken = [], began = performance.now();
  for (let k = 0; k < 3; k++) await round();
  while (taken.length < 5 || performance.now() - began < 1000 * seconds) taken.push(await round());
  return { least: Math.min(...taken), median: median(taken) };
}

const line = (name, { least, median }, rest = "") => console.log(`${name.padEnd(44)}${least.toFixed(1).padStart(10)}${median.toFixed(1).padStart(10)}  ${rest}`);

async function measured(name, made, seconds) {
  const steps = 50, options = { ...ENDLESS, maxIterations: steps };
  let last;
  const whole = await rounds(seconds, async () => {
    made.x.write(made.start);
    const began = performance.now();
    last = await made.problem.solve(options);
    return (1000 * (performance.now() - began)) / Math.max(1, last.iterations.length);
  });
  line(`${name}: a step of solve()`, whole, `${last.linear}, ${last.iterations.length} steps, cost ${last.cost.toExponential(3)}`);
  const solver = made.problem.solver({ ...ENDLESS });
  let k = 0;
  const stepping = await rounds(seconds, async () => {
    const began = performance.now();
    for (let i = 0; i < 100; i++) {
      made.edit(++k);
      await solver.step();
    }
    return 10 * (performance.now() - began);
  });
  line(`${name}: edit and step()`, stepping);
  const advancing = await rounds(seconds, async () => {
    const began = performance.now();
    for (let i = 0; i < 100; i++) {
      made.edit(++k);
      solver.advance({ iterations: 1, budgetMs: 1000 });
    }
    return 10 * (performance.now() - began);
  });
  line(`${name}: edit and advance()`, advancing);
  solver.dispose();
}

export async function small(args) {
  const seconds = Number(args[0]?.match(/^--seconds=([\d.]+)$/)?.[1] ?? 2);
  if (args.length > 1 || !(seconds > 0)) throw new Error(`bench -- small has no "${args.join(" ")}": it has --seconds=N (of a row)`);
  const host = machine();
  console.log(`${host.cpu}, node ${host.node}; ${host.commit}; load average ${host.loadAverage.toFixed(1)}`);
  console.log(`\n${"microseconds".padEnd(44)}${"least".padStart(10)}${"median".padStart(10)}`);
  const lw = await init({ backend: "cpu" });
  await measured("planar arm, 30 joints, 3 rows", arm(lw, planar, false), seconds);
  await measured("the same with 30 rows of rest", arm(lw, planar, true), seconds);
  await measured("arm in space, 30 joints, 3 rows", arm(lw, spatial, false), seconds);
  const large = rosenbrock(lw, 1000);
  for (let k = 0; k < 3; k++) {
    large.x.write(large.start);
    const began = performance.now(), report = await large.problem.solve({ ...ENDLESS, maxIterations: 31 });
    const seconds = (performance.now() - began) / 1000;
    console.log(`1,000 unknowns in one instance: ${seconds.toFixed(2)} s, ${report.iterations.length} steps, ${((1000 * seconds) / report.iterations.length).toFixed(1)} ms each, ${report.linear} (${report.linearReason}), cost ${report.cost.toExponential(3)}`);
  }
  lw.dispose();
}
