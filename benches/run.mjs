// `npm run bench [-- --quick] [--filter=arap/10242/cpu] [--limit=30]`, or `npm run bench -- armadillo`, `autograd`, `bits`, `bundle`, `classics`, `compression`, `elements`, `expressions`, `fits`, `graphs`, `lloyd`, `matmul`, `nist`, `preconditioners`, `scaling`, `large`, `sketches`, `slices`, `small`, `streaming`, `threads`, `throughput`, `training`.
// Springs and ARAP on icospheres, on every backend; what the columns are is printed below the table.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { median } from "./lib/engine.mjs";
import { measure } from "./lib/measure.mjs";
import { isSoftware, machine } from "./lib/machine.mjs";
import { LEGEND, head, short, tableRow } from "./lib/table.mjs";
import { targetLine, targets } from "./lib/targets.mjs";

const BACKENDS = [["cpu", "f64"], ["cpu", "f32"], ["webgpu", "f32"]];

function options(args) {
  const given = { quick: false, filter: /./, limit: 30 };
  for (const arg of args) {
    const [name, value] = arg.split("=", 2);
    if (name === "--quick") given.quick = true;
    else if (name === "--filter" && value) given.filter = new RegExp(value);
    else if (name === "--limit" && Number(value) > 0) given.limit = Number(value);
    else throw new Error(`bench has no "${arg}": it has --quick, --filter=REGEX (of problem/vertices/backend precision), --limit=SECONDS of a row; or armadillo`);
  }
  return given;
}

/** A cold trace happens once a process: the median of three processes, so that one hiccup does not decide. */
async function retrace(job, measured, limit) {
  measured.traces = [measured.traceMs];
  while (measured.traces.length < 3) measured.traces.push((await measure({ ...job, traceOnly: true }, limit)).traceMs ?? Infinity);
  measured.traceMs = median(measured.traces);
}

async function bench(args) {
  const { quick, filter, limit } = options(args);
  const started = performance.now();
  const host = machine();
  const effort = quick ? { sampleMs: 10, warmMs: 200, budgetMs: 200, steps: 3 } : { sampleMs: 10, warmMs: 300, budgetMs: 500, steps: 5 };
  console.log(`${host.cpu}, ${host.cores} cores, ${host.memoryGiB} GiB, last-level cache ${host.lastLevelCache.bytes / 2 ** 20} MiB (${host.lastLevelCache.from}); node ${host.node}; ${host.commit}; one thread`);
  if (host.loadAverage > 0.5) console.log(`NOTE: other programs keep this machine busy (load average ${host.loadAverage.toFixed(1)}): times are too long by that.`);

  const jobs = ["springs", "arap"].flatMap((what) => (quick ? [3, 4, 5] : [3, 4, 5, 6, 7]).flatMap((level) =>
    BACKENDS.map(([backend, precision]) => ({ what, level, vertices: 10 * 4 ** level + 2, backend, precision }))));
  const chosen = jobs.filter(({ what, vertices, backend, precision }) => filter.test(`${what}/${vertices}/${backend} ${precision}`));
  const copies = new Map();
  for (const [backend, precision] of BACKENDS.filter(([b, p]) => chosen.some((job) => job.backend === b && job.precision === p))) {
    const found = await measure({ what: "copy", backend, precision, bytes: 8 * host.lastLevelCache.bytes, sampleMs: 100, warmMs: 500, budgetMs: 1000 }, limit);
    const copy = found.copy && { ...found.copy, software: isSoftware(found.copy.adapter) };
    if (copy) copies.set(`${backend} ${precision}`, copy);
    const notes = [found.cut, copy?.software && "a software adapter: shares marked * mean nothing", copy && !copy.enough && "SMALLER than 8 caches: memory ran out"].filter(Boolean);
    console.log(`copy on ${backend} ${precision}${copy ? `, ${copy.adapter}: ${copy.bytes / 2 ** 20} MiB arrays, ${short(copy.gbPerSecond)} GB/s read and written` : ""}${notes.length ? ` (${notes.join("; ")})` : ""}`);
  }

  console.log(`\n${head()}`);
  const rows = [];
  for (const job of chosen) {
    const measured = await measure({ ...job, ...effort }, limit);
    if (job.vertices <= 10242 && measured.traceMs) await retrace(job, measured, limit);
    const row = { ...job, threads: 1, ...measured, copy: copies.get(`${job.backend} ${job.precision}`) };
    rows.push(row);
    console.log(tableRow(row));
  }
  const checks = targets(rows);
  console.log(`\n${LEGEND}\n\n${checks.map(targetLine).join("\n")}`);
  const cut = rows.filter((row) => row.cut);
  if (cut.length) console.log(`\n${cut.length} of ${rows.length} rows are incomplete (limit ${limit} s a row; --limit=SECONDS changes it):\n${cut.map((row) => `  ${row.what} ${row.vertices} ${row.backend} ${row.precision}: ${row.cut}`).join("\n")}`);

  // A row that is cut off by its limit is a result; one that fails is a defect.
  if (rows.some((row) => row.cut?.startsWith("failed"))) process.exitCode = 1;

  mkdirSync("results", { recursive: true });
  const path = `results/${host.date.slice(0, 19).replaceAll(":", "")}.json`;
  writeFileSync(path, `${JSON.stringify({ machine: host, command: ["npm run bench --", ...args].join(" "), effort, seconds: (performance.now() - started) / 1000, rows, targets: checks }, null, 1)}\n`);
  console.log(`\n${((performance.now() - started) / 1000).toFixed(0)} s; as JSON: ${join(process.cwd(), path)}`);
}

const [first, ...rest] = process.argv.slice(2);
try {
  if (first === "armadillo") await (await import("./armadillo.mjs")).armadillo(rest);
  else if (first === "autograd") await import("./autograd.mjs");
  else if (first === "bits") await (await import("./bits.mjs")).bits();
  else if (first === "scaling") await (await import("./scaling.mjs")).scaling();
  else if (first === "fits") await (await import("./fits.mjs")).fits(rest);
  else if (first === "graphs") await (await import("./graphs.mjs")).graphs(rest);
  else if (first === "sketches") await (await import("./sketches.mjs")).sketches();
  else if (first === "slices") await (await import("./slices.mjs")).slices(rest);
  else if (first === "small") await (await import("./small.mjs")).small(rest);
  else if (first === "streaming") await (await import("./streaming.mjs")).streaming(rest);
  else if (first === "threads") await (await import("./threads.mjs")).threads(rest);
  else if (first === "throughput") await (await import("./throughput.mjs")).throughput(rest);
  else if (first === "training") await (await import("./training.mjs")).training(rest);
  else if (first === "bundle") await (await import("./bundle.mjs")).bundle(rest);
  else if (first === "large") await (await import("./large.mjs")).large(rest);
  else if (first === "compression") await (await import("./compression.mjs")).compression(rest);
  else if (first === "preconditioners") await (await import("./preconditioners.mjs")).preconditioners(rest);
  else if (first === "lloyd") await import("./lloyd.mjs");
  else if (first === "nist") await (await import("./nist.mjs")).regressions(rest);
  else if (first === "classics") await (await import("./classics.mjs")).classics(rest);
  else if (first === "matmul") await import("./matmul.mjs");
  else if (first === "elements") await (await import("./elements.mjs")).elements();
  else if (first === "expressions") await (await import("./expressions.mjs")).expressions();
  else await bench(first === undefined ? [] : [first, ...rest]);
} catch (error) {
  console.error(error.message);
  process.exit(1);
}
