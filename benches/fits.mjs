// `npm run bench -- fits [--count=100000] [--backends=cpu,webgpu,cuda] [--resident=1000000]`: fits a second of a Gaussian spot of five parameters on 5 × 5 pixels, 20 iterations at most:
// lw.fit on each backend and npm ml-levenberg-marquardt in the same run, with exact derivatives. Medians of calls; the first call of an engine, which compiles, is apart.
// Besides: how the time grows with the number of fits, and what of it is the engine's (`run`), without packing and copying in JavaScript.
// `--resident=1000000,10000000,100000000`: fits a second of `fitSet` with so many fits, whose data are on the device before the clock starts, and what
// crossed meanwhile. More than `--each` (10,000,000) are sets of so many, one after the other, all of them on the device at once.
import { performance } from "node:perf_hooks";
import { exp, init } from "leastwise";
import { fitSet } from "leastwise/fits";
import { machine } from "./lib/machine.mjs";

const NAMES = ["a", "x0", "y0", "s", "b"], START = [100, 2, 2, 1, 5], ITERATIONS = 20;
const x = Float32Array.from({ length: 25 }, (_, k) => k % 5), y = Float32Array.from({ length: 25 }, (_, k) => Math.floor(k / 5));
const model = ([a, x0, y0, s, b], { x, y }) => a.mul(exp(x.sub(x0).square().add(y.sub(y0).square()).div(s.square().mul(-2)))).add(b);

/** Spots of different amplitude, place, width and background, with normal noise. */
function spots(count) {
  let state = 1;
  const uniform = () => ((state = (Math.imul(state, 1664525) + 1013904223) >>> 0) + 0.5) / 2 ** 32, between = (low, high) => low + (high - low) * uniform();
  const data = new Float32Array(25 * count);
  for (let fit = 0; fit < count; fit++) {
    const [a, x0, y0, s, b] = [between(60, 140), between(1.5, 2.5), between(1.5, 2.5), between(0.8, 1.3), between(3, 8)];
    for (let k = 0; k < 25; k++) {
      const noise = Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
      data[25 * fit + k] = a * Math.exp(-((x[k] - x0) ** 2 + (y[k] - y0) ** 2) / (2 * s * s)) + b + 2 * noise;
    }
  }
  return data;
}

/** Fits a second of fits that are on the device. */
async function resident(lw, options, data, count, each) {
  const one = Math.min(count, each), all = new Float32Array(25 * one), sets = [];
  for (let place = 0; place < all.length; place += data.length) all.set(data.subarray(0, Math.min(data.length, all.length - place)), place);
  try {
    const uploading = performance.now();
    for (let begin = 0; begin < count; begin += one) sets.push(await fitSet(lw, { ...options, data: all.subarray(0, 25 * Math.min(one, count - begin)) }));
    const uploadMs = performance.now() - uploading, times = [];
    let crossed;
    for (let k = 0; k < 4; k++) {
      const before = lw.counters(), began = performance.now();
      for (const set of sets) await set.run();
      // The first one compiles, and warms up.
      if (k > 0) times.push(performance.now() - began);
      const after = lw.counters();
      crossed = Object.fromEntries(["submissions", "dispatches", "readbacks", "bytesReadBack", "bytesUploaded"].map((name) => [name, after[name] - before[name]]));
    }
    const ms = median(times), { ended, iterations } = await sets[0].read(), made = iterations.reduce((sum, steps) => sum + steps, 0) / iterations.length;
    const flops = FLOPS * (made + 1);
    console.log(`  resident, ${count.toLocaleString("en")} fits in ${sets.length} sets: ${per(count, ms)} (${ms.toFixed(1)} ms; ${times.map((each) => each.toFixed(1)).join(", ")}); upload ${uploadMs.toFixed(0)} ms; ${made.toFixed(1)} iterations a fit, some ${((flops * count) / ms / 1e9).toFixed(2)} Tflop/s`);
    console.log(`    a run: ${Object.entries(crossed).map(([name, number]) => `${number} ${name}`).join(", ")}; of the first set ${Object.entries(ended).filter(([, number]) => number).map(([state, number]) => `${number} ${state}`).join(", ")}`);
  } finally {
    for (const set of sets) set.dispose();
  }
}

/** Milliseconds of processor time, of all threads of this process. */
async function processorMs(work) {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** The least processor time of many short repetitions, by turns with the rival's: other programs on the machine hardly matter to it. */
async function byTurns(call, count, levenbergMarquardt, data) {
  const least = [Infinity, Infinity], few = 200;
  for (let k = 0; k < 40; k++) {
    least[0] = Math.min(least[0], (await processorMs(call)) / count);
    least[1] = Math.min(least[1], (await processorMs(() => rival(levenbergMarquardt, data, few))) / few);
  }
  const [ours, theirs] = least.map((ms) => per(1, ms));
  return `${ours} of processor time, ${theirs} of ml-levenberg-marquardt: ${(least[1] / least[0]).toFixed(0)} times`;
}

/** Operations of an evaluation: 25 points of a model with its five derivatives (30), an exponential (20), six compensated sums (30) and a normal matrix (35). */
const FLOPS = 25 * 115;

const median = (numbers) => [...numbers].sort((a, b) => a - b)[numbers.length >> 1];
const per = (count, ms) => `${Math.round((1000 * count) / ms).toLocaleString("en")} fits/s`;

/** The function of npm ml-levenberg-marquardt, or undefined on a machine without that package. */
async function rivalFunction() {
  try {
    return (await import("ml-levenberg-marquardt")).levenbergMarquardt;
  } catch (error) {
    if (error.code !== "ERR_MODULE_NOT_FOUND") throw error;
    return undefined;
  }
}

/** Milliseconds of npm ml-levenberg-marquardt, whose model takes a pixel's number. */
function rival(levenbergMarquardt, data, count) {
  const pixels = Array.from({ length: 25 }, (_, k) => k);
  const part = (k, x0, y0, s) => Math.exp(-((x[k] - x0) ** 2 + (y[k] - y0) ** 2) / (2 * s * s));
  const began = performance.now();
  for (let fit = 0; fit < count; fit++) {
    levenbergMarquardt({ x: pixels, y: Array.from(data.subarray(25 * fit, 25 * fit + 25)) }, ([a, x0, y0, s, b]) => (k) => a * part(k, x0, y0, s) + b, {
      initialValues: START, maxIterations: ITERATIONS, damping: 1e-2, errorTolerance: 0,
      jacobianFunction: ([a, x0, y0, s]) => (k) => {
        const e = part(k, x0, y0, s), [u, v] = [x[k] - x0, y[k] - y0];
        return [e, (a * e * u) / s ** 2, (a * e * v) / s ** 2, (a * e * (u * u + v * v)) / s ** 3, 1];
      },
    });
  }
  return performance.now() - began;
}

export async function fits(args) {
  const given = Object.fromEntries(args.map((arg) => arg.replace(/^--/, "").split("=")));
  const count = Number(given.count ?? 100_000), backends = (given.backends ?? "cpu,webgpu,cuda").split(",");
  const host = machine(), data = spots(count);
  console.log(`${host.cpu}, node ${host.node}; ${host.commit}; load average ${host.loadAverage.toFixed(1)}; ${count} fits of 5 parameters to 25 points, ${ITERATIONS} iterations at most`);
  const few = Math.min(count, 2000), levenbergMarquardt = await rivalFunction();
  let rivalMs = NaN;
  if (levenbergMarquardt) {
    rival(levenbergMarquardt, data, 200);
    rivalMs = median([1, 2, 3].map(() => rival(levenbergMarquardt, data, few)));
    console.log(`npm ml-levenberg-marquardt, one core: ${per(few, rivalMs)}`);
  } else {
    console.log("MISSING: npm ml-levenberg-marquardt is not installed here, so no row is compared with it: npm install ml-levenberg-marquardt");
  }
  const compared = (ms) => (levenbergMarquardt ? `${(rivalMs / few / ms).toFixed(0)} times ml-levenberg-marquardt` : "not compared");
  const engines = [["cpu", "f32"], ["cpu", "f64"], ["webgpu", "f32"], ["cuda", "f32"], ["cuda", "f64"]].filter(([backend]) => backends.includes(backend));
  for (const [backend, precision] of engines) {
    let lw;
    try {
      lw = await init({ backend, precision });
    } catch (error) {
      console.log(`${backend} ${precision}: none here (${error.code})`);
      continue;
    }
    const options = { model, parameters: NAMES, variables: { x, y }, points: 25, start: Object.fromEntries(NAMES.map((name, k) => [name, START[k]])), maxIterations: ITERATIONS };
    const call = (of) => lw.fit({ ...options, data: data.subarray(0, 25 * of) });
    const first = performance.now();
    const { ended, iterations } = await call(count);
    const firstMs = performance.now() - first;
    // A module that the host compiles in the background is there by the second call.
    for (let k = 0; k < 3; k++) await call(Math.min(count, 5000));
    for (const of of [count / 100, count / 10, count].map(Math.ceil)) {
      const inside = [], all = [];
      const native = lw.native, plain = native.resume;
      let ms = 0;
      native.resume = (...parameters) => {
        const began = performance.now(), progress = plain.apply(native, parameters);
        ms += performance.now() - began;
        return progress;
      };
      for (let k = 0; k < 5; k++) {
        ms = 0;
        const began = performance.now();
        await call(of);
        all.push(performance.now() - began);
        inside.push(ms);
      }
      native.resume = plain;
      const total = median(all);
      console.log(`${backend} ${precision}, ${of} fits: ${per(of, total)} (${total.toFixed(1)} ms, ${median(inside).toFixed(1)} ms of it in resume()), ${compared(total / of)}`);
    }
    const made = iterations.reduce((sum, each) => sum + each, 0) / count;
    if (backend === "cpu" && levenbergMarquardt) console.log(`  least of 40: ${await byTurns(() => call(Math.min(count, 20_000)), Math.min(count, 20_000), levenbergMarquardt, data)}`);
    console.log(`  ${lw.adapter}; first call ${firstMs.toFixed(0)} ms; ${made.toFixed(1)} iterations a fit; ${Object.entries(ended).filter(([, each]) => each).map(([state, each]) => `${each} ${state}`).join(", ")}`);
    for (const of of (given.resident ?? "").split(",").filter(Boolean).map(Number)) await resident(lw, options, data, of, Number(given.each ?? 10_000_000));
    lw.dispose();
  }
}
