/** `leastwise doctor`: which backends there are, why not, and what would help. */
import { readFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { init, type Backend, type Engine } from "leastwise";
import type { Command } from "../arguments.js";
import { columns } from "../arguments.js";
import { counted, time } from "../text.js";
import { bend, sphere } from "../sphere.js";

/** What was found of one thing. */
interface Finding { readonly name: string; readonly works: boolean; readonly said: string; /** What would help. */ readonly help?: string }

const HEADERS = "in pages, threads need the headers Cross-Origin-Opener-Policy: same-origin and Cross-Origin-Embedder-Policy: require-corp (or credentialless)";

export const doctor: Command = {
  name: "doctor",
  summary: "say which backends this machine has, why not, and what would help",
  positionals: [],
  options: { json: { help: "the findings as JSON" }, help: { short: "h", help: "this text" } },
  notes: "Every backend that is there solves a small problem, whose cost must be that of the CPU. Ends with 1 where the CPU's does not work.",

  async run(args) {
    const { version } = JSON.parse(await readFile(new URL("../../../package.json", import.meta.url), "utf8")) as { version: string };
    const host = `${hostName()} on ${process.platform}, ${process.arch}, ${counted(availableParallelism(), "core")}`;
    const expected = await found("cpu", () => init({ backend: "cpu" }));
    const cost = expected.cost;
    const findings: Finding[] = [expected, await threads(cost), await found("webgpu", () => init({ backend: "webgpu" }), cost), await found("cuda", () => init({ backend: "cuda" }), cost)]
      .map((finding) => withHelp(finding));
    const taken = await auto();
    if (!expected.works) process.exitCode = 1;
    if (args.has("json")) return console.log(JSON.stringify({ version, host, backends: findings, auto: taken, pages: HEADERS }, null, 2));
    const rows = findings.flatMap(({ name, works, said, help }): [string, string][] => [[`${works ? "✔" : "✖"} ${name}`, said], ...(help === undefined ? [] : [["", `→ ${help}`] as [string, string]])]);
    console.log(`leastwise ${version}, ${host}\n\n${columns(rows)}\n\ninit() takes ${taken}.\nNote: ${HEADERS}.`);
  },
};

function hostName(): string {
  const { bun, deno, node } = process.versions as { bun?: string; deno?: string; node: string };
  return bun ? `Bun ${bun}` : deno ? `Deno ${deno}` : `Node ${node}`;
}

const wordsOf = (thrown: unknown) => (thrown instanceof Error ? thrown.message : String(thrown));

/** Opens an engine and lets it solve; against `expected`, where that is known. */
async function found(name: Backend | "threads", open: () => Promise<Engine>, expected?: number): Promise<Finding & { readonly cost?: number }> {
  try {
    const lw = await open();
    try {
      const { report } = await bend(lw, sphere(1), 1e-6);
      const apart = expected === undefined ? 0 : Math.abs(report.cost - expected) / expected;
      // Written so that a NaN fails, too.
      if (!(Number.isFinite(report.cost) && apart < 1e-3)) return { name, works: false, said: `it computes something else: a cost of ${report.cost}, where the CPU has ${expected}` };
      return { name, works: true, said: `${lw.precision}, ${lw.reason}; a small solve took ${time(report.time.solveMs)}`, cost: report.cost };
    } finally {
      lw.dispose();
    }
  } catch (thrown) {
    return { name, works: false, said: wordsOf(thrown) };
  }
}

async function threads(expected: number | undefined): Promise<Finding> {
  const { init } = await import("leastwise/threads");
  let count = 1, reason = "";
  const solved = await found("threads", async () => {
    const lw = await init({ backend: "cpu" });
    ({ count, reason } = lw.threads);
    return lw;
  }, expected);
  return !solved.works || count === 1 ? { name: "threads", works: false, said: solved.works ? reason : solved.said } : { ...solved, said: `${counted(count, "thread")} of leastwise/threads: ${reason}` };
}

async function auto(): Promise<string> {
  const lw = await init();
  const taken = `${lw.backend} (${lw.precision}): ${lw.reason}`;
  lw.dispose();
  return taken;
}

/** What would help, from what was said. */
function withHelp({ name, works, said }: Finding): Finding {
  const help = works ? (/its adapter is software/.test(said) ? `the CPU backend is faster than this; for a GPU: ${driver()}` : undefined) : remedy(name, said);
  return { name, works, said, ...(help !== undefined && { help }) };
}

function remedy(name: string, said: string): string | undefined {
  if (/npm install webgpu/.test(said)) return "npm install webgpu";
  if (name === "webgpu") return driver();
  if (name === "threads") return availableParallelism() === 1 ? "nothing: with one core, threads gain nothing" : undefined;
  if (name !== "cuda") return "reinstall the package: npm install leastwise";
  if (process.platform !== "linux" || process.arch !== "x64") return "nothing: leastwise-cuda is for Linux on x64; WebGPU is there for other machines";
  if (/npm install leastwise-cuda/.test(said)) return "with an NVIDIA GPU: npm install leastwise-cuda";
  return "install NVIDIA's driver; npx leastwise-cuda doctor says more";
}

function driver(): string {
  return process.platform === "linux" ? "install a Vulkan driver (NVIDIA's, or mesa-vulkan-drivers) and libvulkan1, and see that vulkaninfo names the GPU" : "update the driver of the GPU";
}
