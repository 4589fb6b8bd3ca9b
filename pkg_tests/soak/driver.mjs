// Soak: random sessions against a model, in processes of their own that are watched from here.
//   node driver.mjs --backend cpu --minutes 10 --seed 1 [--sessions N] [--size small] [--only problem,index] [--limit 30] [--verbose]
//   node driver.mjs --replay soak-cpu-17.json
// Needs nothing but Node and the package; with leastwise-cuda beside it, `--backend cuda` as well.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { shrunk, signature } from "./shrink.mjs";

export const BACKENDS = ["cpu", "threads", "webgpu", "cuda"];

/** Seconds in which a process without anything left to do must have ended. */
const TO_END_S = 20;

/** Minutes for making one failure smaller, and all of them. */
const TO_SHRINK_MINUTES = 2, TO_SHRINK_ALL_MINUTES = 8;

const worker = fileURLToPath(new URL("worker.mjs", import.meta.url));

/**
 * Runs a job in a process; `hear` is told its events. Gives the failures, those that it could not tell itself among them: it stood
 * still for `limit` seconds, was ended by a signal, or did not end when all was done.
 */
export async function runJob(job, { limit, hear = () => {}, env }) {
  const folder = mkdtempSync(join(tmpdir(), "leastwise-soak-")), file = join(folder, "job.json");
  writeFileSync(file, JSON.stringify(job));
  const child = spawn(process.execPath, ["--expose-gc", worker, file], { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
  const failures = [], lanes = new Map();
  let session, ended = false, rest = "", errors = "", why, timer;
  const watch = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      why = ended ? "does-not-end" : "hang";
      child.kill("SIGKILL");
    }, 1000 * (ended ? TO_END_S : limit));
  };
  watch();
  child.stderr.setEncoding("utf8").on("data", (text) => { errors = (errors + text).slice(-4000); });
  child.stdout.setEncoding("utf8").on("data", (text) => {
    watch();
    const lines = (rest + text).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      const event = JSON.parse(line);
      if (event.session !== undefined) { session = event.session; lanes.clear(); }
      if (event.at) lanes.set(event.at[0], event.at[1]);
      if (event.failure) failures.push(event.failure);
      if (event.end) { ended = true; watch(); }
      hear(event);
    }
  });
  const [status, signal] = await new Promise((resolve) => child.on("close", (...how) => resolve(how)));
  clearTimeout(timer);
  rmSync(folder, { recursive: true });
  const kind = why ?? (signal ? "killed" : status !== 0 || !ended ? "ended-early" : undefined);
  if (kind) {
    const detail = { hang: `nothing was heard for ${limit} s`, "does-not-end": `all was done, and the process was there ${TO_END_S} s later`, killed: `by ${signal}`, "ended-early": `with exit code ${status}` }[kind];
    const failure = { seed: session, kind, label: [...lanes].map(([lane, label]) => `lane ${lane}: ${label}`).join("; "), detail: `${detail}\n${errors}` };
    failures.push(failure);
    hear({ failure });
  }
  return failures;
}

/** The failure's session by itself, made as small as can be. */
async function smaller(failure, plan, { limit, note, last }) {
  const wanted = signature(failure), until = Math.min(last, Date.now() + TO_SHRINK_MINUTES * 60_000);
  if (Date.now() > last) return { plan, note: "not made smaller: so much else failed" };
  let runs = 0;
  const fails = async (candidate) => {
    runs++;
    const found = await runJob({ backend: plan.backend, plans: [candidate] }, { limit });
    return found.some((each) => signature(each) === wanted || (each.kind === failure.kind && ["hang", "killed", "ended-early", "does-not-end"].includes(each.kind)));
  };
  for (let tries = 0; !(await fails(plan)); tries++) if (tries === 2) return { plan, note: "it does not come again when its session is run by itself: what came before it, or the clock, has a part in it" };
  const made = await shrunk(plan, fails, () => Date.now() > until);
  note(`made smaller in ${runs} runs`);
  return { plan: made };
}

const describe = ({ lanes, engines }) => [
  ...engines.map((options, k) => `  engine ${k}: ${JSON.stringify(options)}`),
  ...lanes.flatMap(({ kind, engine, make, actions }, k) => [`  lane ${k}: ${kind} on engine ${engine}${make ? ` ${JSON.stringify(make)}` : ""}`, ...actions.map((action) => `    ${JSON.stringify(action)}`)]),
].join("\n");

/** What a process of many sessions has more of at its end than after half of them, by far: nothing that sessions leave behind may add up. */
function growth(measured) {
  if (measured.length < 10) return undefined;
  const [half, end] = [measured[measured.length >> 1], measured.at(-1)], mb = (bytes) => `${(bytes / 2 ** 20).toFixed(1)} MB`;
  const name = ["module", "heap"].find((each) => end[each] > 1.5 * half[each] + 16 * 2 ** 20);
  return name && `${name}: ${mb(half[name])} after ${20 * (measured.length >> 1)} sessions, ${mb(end[name])} after ${20 * measured.length}`;
}

/** Sessions until the time is over. Gives the failures, one of each signature with its plan. */
export async function soak({ backend, minutes, seed, sessions = Infinity, size, only, limit, out = ".", verbose = false, print = console.log }) {
  const { planOf } = await import("./plan.mjs");
  const started = Date.now(), until = started + minutes * 60_000, known = new Map(), totals = {};
  let done = 0, bytes, last = started;
  const add = (counted, base) => { for (const [name, count] of Object.entries(counted)) totals[name] = (base[name] ?? 0) + count; };
  const line = () => {
    const mb = (value) => (value / 2 ** 20).toFixed(1);
    print(`${((Date.now() - started) / 1000).toFixed(0).padStart(5)} s: ${done} sessions (seed ${seed + done - 1}), ${totals.actions ?? 0} actions, ${totals.verified ?? 0} repeated to the bit, ${known.size} kinds of failures; module ${mb(bytes.module)} MB, rss ${mb(bytes.rss)} MB, heap ${mb(bytes.heap)}`);
  };
  while (done < sessions && Date.now() < until) {
    const base = { ...totals }, from = done, measured = [];
    let broken = false;
    await runJob({ backend, seed: seed + done, sessions: Number.isFinite(sessions) ? sessions - done : 1e9, until, size, only }, { limit, hear: (event) => {
      if (verbose && (event.session !== undefined || event.at)) print(JSON.stringify(event));
      if (event.done !== undefined) {
        done++;
        bytes = event.bytes;
        if (event.isMeasured) measured.push(bytes);
        add(event.totals, base);
        if (Date.now() - last > 15_000) { last = Date.now(); line(); }
      }
      if (event.failure) {
        const name = signature(event.failure), found = known.get(name);
        if (found) found.times++;
        else {
          known.set(name, { failure: event.failure, times: 1 });
          print(`FAILURE in session ${event.failure.seed}: ${event.failure.kind}: ${event.failure.label}\n    ${event.failure.detail.split("\n").slice(0, 6).join("\n    ")}`);
        }
        broken ||= ["hang", "killed", "ended-early", "does-not-end"].includes(event.failure.kind);
      }
    } });
    const grown = growth(measured);
    if (grown) {
      const failure = { kind: "memory", label: "the process", detail: grown };
      known.set(signature(failure), { failure, times: 1 });
    }
    // The session that its process did not survive is not run again.
    if (broken) done++;
    else if (done === from) break;
  }
  if (bytes) line();
  print(JSON.stringify(Object.fromEntries(Object.entries(totals).sort(([a], [b]) => (a < b ? -1 : 1))), null, 1));
  const failures = [], end = Date.now() + TO_SHRINK_ALL_MINUTES * 60_000;
  for (const { failure, times } of known.values()) {
    // No session by itself is to blame.
    if (failure.seed === undefined) {
      print(`\n${failure.kind}: ${failure.label}: ${failure.detail}`);
      failures.push({ failure, times });
      continue;
    }
    const { plan, note } = await smaller(failure, planOf(failure.seed, { backend, size, only }), { limit, last: end, note: verbose ? print : () => {} });
    const file = join(out, `soak-${backend}-${failure.seed}-${failures.length}.json`);
    writeFileSync(file, `${JSON.stringify(plan)}\n`);
    print(`\n${times} × ${failure.kind}: ${failure.label}\n    ${failure.detail.split("\n").slice(0, 8).join("\n    ")}\n${note ? `  (${note})\n` : ""}${describe(plan)}\n  again: --replay ${file}`);
    failures.push({ failure, times, plan, file, note });
  }
  return { failures, totals, sessions: done, bytes };
}

const USAGE = "node driver.mjs --backend cpu|threads|webgpu|cuda --minutes 10 --seed 1 [--sessions N] [--size full|small] [--only problem,tensor,cluster,index,misuse,engine] [--limit seconds] [--verbose], or --replay file";

async function main(args) {
  const { values } = parseArgs({ args, options: { ...Object.fromEntries(["backend", "minutes", "seed", "sessions", "size", "only", "limit", "replay", "out"].map((name) => [name, { type: "string" }])), verbose: { type: "boolean" } } });
  const { backend = "cpu", replay, verbose } = values;
  const number = (name, otherwise) => {
    const value = Number(values[name] ?? otherwise);
    if (!(value >= 0)) throw new Error(`--${name} ${values[name]} is no number\n${USAGE}`);
    return value;
  };
  if (!BACKENDS.includes(backend)) throw new Error(`--backend ${backend}\n${USAGE}`);
  // A software adapter compiles a kernel for a minute.
  const limit = number("limit", backend === "webgpu" ? 240 : 60);
  if (replay !== undefined) {
    const plan = JSON.parse(readFileSync(replay, "utf8"));
    console.log(describe(plan));
    const failures = await runJob({ backend: plan.backend, plans: [plan] }, { limit, hear: (event) => { if (verbose && event.at) console.log(JSON.stringify(event.at)); } });
    for (const { kind, label, detail } of failures) console.log(`FAILURE: ${kind}: ${label}\n    ${detail.replaceAll("\n", "\n    ")}`);
    console.log(failures.length ? `${failures.length} failures` : "no failure");
    return failures.length === 0;
  }
  const seed = number("seed", Math.floor(Math.random() * 1e6));
  console.log(`soak on ${backend} for ${number("minutes", 10)} minutes from seed ${seed}`);
  const { failures, sessions, totals } = await soak({ backend, seed, minutes: number("minutes", 10), limit, verbose, sessions: values.sessions === undefined ? Infinity : number("sessions"), size: values.size ?? "full", only: values.only?.split(","), out: values.out ?? "." });
  console.log(`\n${failures.length ? `${failures.length} kinds of failures` : "clean"}: ${sessions} sessions on ${backend} from seed ${seed}, ${totals.verified ?? 0} results repeated to the bit`);
  return failures.length === 0;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.exitCode = (await main(process.argv.slice(2)).catch((error) => { console.error(error.message); return false; })) ? 0 : 1;
}
