// `leastwise-cuda run`: one process a GPU, each a rank of one world.
import { spawn } from "node:child_process";

export const USAGE = `leastwise-cuda run --ranks N [--host NAME[:RANKS]]... SCRIPT [ARGUMENTS]

  --ranks N            processes in all, each with a GPU of its own
  --host NAME[:RANKS]  another host with so many of them (default: 1); says what to start there
  --first K --here M --world ID
                       what another host is told: its first rank, its number of ranks, and the world

SCRIPT finds its world by \`world()\` of leastwise-cuda.`;

/** Reasons not to start anything. */
export class Refused extends Error {}

const refuse = (message) => { throw new Refused(message); };
const quoted = (word) => (/^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

function whole(name, text, least = 1) {
  if (!/^\d+$/.test(text ?? "") || Number(text) < least) refuse(`${name} needs a whole number from ${least}, not ${text === undefined ? "nothing" : `"${text}"`}`);
  return Number(text);
}

/** What was asked for. */
export function asked(words) {
  const found = { hosts: [], first: 0 };
  let k = 0;
  for (; k < words.length && words[k].startsWith("-"); k += 2) {
    const [name, value] = [words[k], words[k + 1]];
    if (name === "--ranks") found.ranks = whole(name, value);
    else if (name === "--first") found.first = whole(name, value, 0);
    else if (name === "--here") found.here = whole(name, value);
    else if (name === "--world") found.world = /^[0-9a-f]{256}$/.test(value ?? "") ? value : refuse("--world needs the 256 digits that the first host has printed");
    else if (name === "--host") {
      const [, host, count] = /^([^:]+)(?::(.*))?$/.exec(value ?? "") ?? refuse("--host needs a name");
      found.hosts.push({ host, count: count === undefined ? 1 : whole(`--host ${host}`, count) });
    } else refuse(`there is no option ${name}`);
  }
  const [script, ...rest] = words.slice(k);
  if (!found.ranks) refuse("--ranks is missing");
  if (script === undefined) refuse("the script is missing");
  if ((found.first > 0 || found.here !== undefined) !== (found.world !== undefined)) refuse("--first, --here and --world go together: they are for a host that joins another one");
  const elsewhere = found.hosts.reduce((sum, { count }) => sum + count, 0);
  const here = found.here ?? found.ranks - elsewhere;
  if (here < 1 || found.first + here > found.ranks) refuse(`${here} of ${found.ranks} ranks are left for this host, from rank ${found.first} on: it needs at least one, and no more than there are`);
  return { ...found, here, script, rest };
}

/** GPUs by the names that CUDA_VISIBLE_DEVICES takes: those that are visible now. */
export function visible(gpus, setting) {
  const named = setting?.split(",").map((name) => name.trim()).filter((name) => name !== "");
  return named?.length ? named.slice(0, gpus) : Array.from({ length: gpus }, (_, k) => String(k));
}

/** Processes of this host, and commands for others. */
export function plan({ ranks, hosts, first, here, script, rest }, world, gpus) {
  if (here > gpus.length) refuse(`${here} ranks need as many GPUs, and this host has ${gpus.length}: NCCL has a GPU for each rank`);
  const started = Array.from({ length: here }, (_, k) => ({
    rank: first + k,
    env: { CUDA_VISIBLE_DEVICES: gpus[k], LEASTWISE_RANK: String(first + k), LEASTWISE_RANKS: String(ranks), LEASTWISE_WORLD: world },
  }));
  let next = first + here;
  const elsewhere = hosts.map(({ host, count }) => {
    const words = ["npx", "leastwise-cuda", "run", "--ranks", ranks, "--first", next, "--here", count, "--world", world, script, ...rest];
    next += count;
    return { host, command: words.map((word) => quoted(String(word))).join(" ") };
  });
  return { started, elsewhere };
}

/** Runs it; the exit status is the first one that is not 0. */
export async function run(words) {
  const all = asked(words);
  const { probe, worldId } = await import("./index.js");
  const { missing, gpus } = probe();
  if (missing) refuse(`CUDA can't be used: ${missing}`);
  // The group meets at this process, which lives as long as its ranks do.
  const world = all.world ?? Buffer.from(worldId()).toString("hex");
  const { started, elsewhere } = plan(all, world, visible(gpus.length, process.env.CUDA_VISIBLE_DEVICES));
  for (const { host, command } of elsewhere) console.error(`On ${host}, within 30 seconds:\n  ${command}`);
  const ended = started.map(({ rank, env }) => new Promise((resolve) => {
    const child = spawn(process.execPath, [...process.execArgv, all.script, ...all.rest], { stdio: ["ignore", "inherit", "inherit"], env: { ...process.env, ...env } });
    for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => child.kill(signal));
    child.once("error", (error) => { console.error(`rank ${rank}: ${error.message}`); resolve(1); });
    child.once("exit", (code, signal) => {
      if (signal) console.error(`rank ${rank} was ended by ${signal}`);
      resolve(code ?? 1);
    });
  }));
  return (await Promise.all(ended)).find((code) => code !== 0) ?? 0;
}
