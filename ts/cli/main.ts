#!/usr/bin/env node
// `npx leastwise`: finds the command, runs it, and says in one line what went wrong.
import { readFile } from "node:fs/promises";
import { debuglog } from "node:util";
import { columns, help, parse, UsageError, type Command } from "./arguments.js";
import { bench } from "./commands/bench.js";
import { cluster } from "./commands/cluster.js";
import { compress } from "./commands/compress.js";
import { demo } from "./commands/demo.js";
import { doctor } from "./commands/doctor.js";
import { info } from "./commands/info.js";
import { query } from "./commands/query.js";

const COMMANDS: readonly Command[] = [demo, doctor, compress, info, query, bench, cluster];
const FAILED = 1, MISUSED = 2, INTERRUPTED = 130;

function overview(): string {
  const rows = COMMANDS.map(({ name, positionals, summary }) => [`${name} ${positionals.join(" ")}`, summary] as const);
  return `Least squares on the GPU: a demonstration, a check of this machine, and vectors compressed and searched.\n\nUsage: npx leastwise COMMAND [options]\n\n${columns(rows)}\n\nnpx leastwise COMMAND --help says more of each; --version says which version this is.\n`;
}

async function version(): Promise<string> {
  const manifest = JSON.parse(await readFile(new URL("../../package.json", import.meta.url), "utf8")) as { version: string };
  return `${manifest.version}\n`;
}

async function run([name, ...args]: readonly string[], signal: AbortSignal): Promise<void> {
  if (name === "--version" || name === "-v") return void process.stdout.write(await version());
  if (name === "--help" || name === "-h" || name === "help") return void process.stdout.write(overview());
  const command = COMMANDS.find((each) => each.name === name);
  if (!command) throw new UsageError(name === undefined ? "say which command (npx leastwise --help lists them)" : `there is no command "${name}" (npx leastwise --help lists them)`);
  if (args.includes("--help") || args.includes("-h")) return void process.stdout.write(help(command));
  try {
    await command.run(parse(command, args), signal);
  } catch (thrown) {
    if (thrown instanceof UsageError) thrown.message += ` (npx leastwise ${command.name} --help says what it takes)`;
    throw thrown;
  }
}

// The reader of a pipe may have enough before we do.
process.stdout.on("error", ({ code }: NodeJS.ErrnoException) => process.exit(code === "EPIPE" ? 0 : FAILED));
const interrupt = new AbortController();
process.once("SIGINT", () => interrupt.abort(new Error("interrupted")));
process.once("SIGTERM", () => interrupt.abort(new Error("interrupted")));
try {
  await run(process.argv.slice(2), interrupt.signal);
} catch (thrown) {
  // NODE_DEBUG=leastwise tells where.
  debuglog("leastwise")("%s", (thrown as Error)?.stack);
  console.error(`leastwise: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
  process.exitCode = interrupt.signal.aborted ? INTERRUPTED : thrown instanceof UsageError ? MISUSED : FAILED;
}
