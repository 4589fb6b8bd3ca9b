// Child processes with progress, and errors that a person can act on.
import { spawn, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../../", import.meta.url)).replace(/\/$/, "");

/** A failure whose message is the whole story: printed without a stack. */
export class StepError extends Error {}

export const seconds = (since) => `${((performance.now() - since) / 1000).toFixed(1)} s`;

/** Names what is missing and the exact commands that get it. */
export function missing(what, ...commands) {
  return new StepError([`${what}`, ...(commands.length ? ["  To get it:"] : []), ...commands.map((c) => `    ${c}`)].join("\n"));
}

/** Output of a short command, or undefined when it is not there or fails. */
export function capture(command, args, options = {}) {
  const { env, ...rest } = options;
  const done = spawnSync(command, args, { encoding: "utf8", ...rest, env: { ...process.env, ...env } });
  return done.status === 0 ? done.stdout.trim() : undefined;
}

// One line that is rewritten on a terminal; a line every 15 s in a log, so that nobody takes a long step for a hang.
function heartbeat(label) {
  const started = performance.now();
  const terminal = process.stdout.isTTY;
  let last = "";
  const width = () => (process.stdout.columns || 100) - 1;
  const timer = setInterval(() => {
    const line = `  … ${label} (${Math.round((performance.now() - started) / 1000)} s)${last ? `: ${last}` : ""}`.slice(0, width());
    process.stdout.write(terminal ? `\r\x1b[2K${line}` : `${line}\n`);
  }, terminal ? 500 : 15_000);
  return {
    note: (line) => { last = line; },
    stop: () => { clearInterval(timer); if (terminal) process.stdout.write("\r\x1b[2K"); },
  };
}

const stripAnsi = (text) => text.replace(/\x1b\[[0-9;?]*[A-Za-z]/g, "");

/**
 * Runs a command that may take long: its output is held back and its last line shown as progress.
 * Resolves to its output; a failure throws with the end of that output.
 */
export async function run(label, command, args, { cwd = root, env = {}, timeoutMs } = {}) {
  const beat = heartbeat(label);
  const lines = [];
  let timedOut = false;
  // Its own process group, so that a timeout also ends what it started.
  const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"], detached: true });
  const kill = () => { try { process.kill(-child.pid, "SIGTERM"); } catch { /* already gone */ } };
  const timer = timeoutMs && setTimeout(() => { timedOut = true; kill(); }, timeoutMs);
  const onSignal = () => { kill(); process.exit(130); };
  process.once("SIGINT", onSignal).once("SIGTERM", onSignal);
  for (const stream of [child.stdout, child.stderr]) {
    let rest = "";
    stream.setEncoding("utf8").on("data", (text) => {
      const parts = (rest + stripAnsi(text)).split(/[\r\n]+/);
      rest = parts.pop();
      for (const line of parts) if (line.trim()) { lines.push(line); beat.note(line.trim()); }
      if (lines.length > 5000) lines.splice(0, 1000);
    }).on("end", () => { if (rest.trim()) lines.push(rest); });
  }
  const code = await new Promise((resolve) => {
    child.on("error", (error) => { lines.push(error.message); resolve(127); });
    child.on("close", (status, signal) => resolve(status ?? (signal ? 128 : 1)));
  });
  clearTimeout(timer);
  beat.stop();
  process.off("SIGINT", onSignal).off("SIGTERM", onSignal);
  if (code !== 0) {
    const why = timedOut ? `gave up after ${Math.round(timeoutMs / 1000)} s` : `exit code ${code}`;
    throw new StepError(`${label}: \`${[command, ...args].join(" ")}\` failed (${why})\n${lines.slice(-80).map((l) => `    ${l}`).join("\n")}`);
  }
  return lines.join("\n");
}

/** Runs a command whose own output is what the reader wants to see; resolves to it. `say` gets it as it comes. */
export async function passThrough(label, command, args, { cwd = root, env = {}, say = (text) => process.stdout.write(text) } = {}) {
  const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
  const parts = [];
  const heard = (text) => { parts.push(text); say(text); };
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", heard);
  const code = await new Promise((resolve) => {
    child.on("error", (error) => { heard(`${error.message}\n`); resolve(127); });
    child.on("close", (status, signal) => { if (signal) heard(`ended by ${signal}\n`); resolve(status ?? 1); });
  });
  if (code !== 0) throw new StepError(`${label}: \`${[command, ...args].join(" ")}\` failed (exit code ${code})`);
  return parts.join("");
}

/** One announced step. `work` returns what it found or did. */
export async function step(name, work) {
  const started = performance.now();
  try {
    const result = await work();
    console.log(`✓ ${name}: ${result} [${seconds(started)}]`);
  } catch (error) {
    console.error(`✗ ${name} [${seconds(started)}]`);
    throw error;
  }
}

/** Runs `main` when the module was started from the command line, and reports its failure for people. */
export async function entry(meta, main) {
  if (process.argv[1] !== fileURLToPath(meta.url)) return;
  try {
    await main();
  } catch (error) {
    console.error(error instanceof StepError ? `\n${error.message}` : error);
    process.exit(1);
  }
}
