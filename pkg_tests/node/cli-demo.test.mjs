// `npx leastwise demo` and `doctor`, as they are installed.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { inflateSync } from "node:zlib";

const installed = dirname(dirname(fileURLToPath(import.meta.resolve("leastwise"))));
const { version } = JSON.parse(await readFile(join(installed, "package.json"), "utf8"));

async function leastwise(args, cwd, env = {}) {
  const child = spawn(process.execPath, [join(installed, "dist/cli/main.js"), ...args], { cwd, env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
  const said = { stdout: "", stderr: "" };
  for (const stream of ["stdout", "stderr"]) child[stream].setEncoding("utf8").on("data", (text) => { said[stream] += text; });
  return { code: await new Promise((resolve) => child.on("close", resolve)), ...said };
}

async function folder(t) {
  const path = await mkdtemp(join(tmpdir(), "leastwise-demo-"));
  t.after(() => rm(path, { recursive: true, force: true }));
  return path;
}

/** Pixels of a PNG of ours: RGB, no filters. */
function pixelsOf(file) {
  assert.equal(file.toString("latin1", 1, 4), "PNG");
  const [width, height] = [file.readUInt32BE(16), file.readUInt32BE(20)];
  const at = file.indexOf("IDAT");
  const rows = inflateSync(file.subarray(at + 4, at + 4 + file.readUInt32BE(at - 4)));
  assert.equal(rows.length, height * (1 + 3 * width));
  return { width, height, at: (x, y) => [...rows.subarray(y * (1 + 3 * width) + 1 + 3 * x, y * (1 + 3 * width) + 4 + 3 * x)] };
}

test("demo solves, draws in the terminal without colours where it is none, and writes a picture", async (t) => {
  const cwd = await folder(t);
  const { code, stdout, stderr } = await leastwise(["demo", "--backend", "cpu"], cwd);
  assert.equal(code, 0, stderr);
  assert.doesNotMatch(stdout, /\x1b/);
  assert.match(stdout, /^2562 vertices, 15372 unknowns, on cpu: the CPU was asked for$/m);
  assert.match(stdout, /^cost [\d.]+ → [\d.]+ in \d+ iterations, .*: converged$/m);
  assert.ok(stdout.includes(`picture: ${pathToFileURL(join(cwd, "leastwise-demo.png")).href}`), stdout);
  // Drawn: some 25 lines of some 70 letters, of several shades.
  const drawn = stdout.split("\n\n2562")[0];
  assert.ok(new Set(drawn.replaceAll(/\s/g, "")).size >= 5 && drawn.replaceAll(/\s/g, "").length > 300, drawn);
  const { width, height, at } = pixelsOf(await readFile(join(cwd, "leastwise-demo.png")));
  assert.deepEqual([width, height, at(0, 0)], [1200, 720, [246, 247, 250]]);
  // What is lifted is orange, and higher on the right, after the solve, than on the left.
  const topOf = (from) => {
    for (let y = 0; y < height; y++) for (let x = from; x < from + width / 2; x++) if (at(x, y)[0] - at(x, y)[2] > 60) return y;
    return height;
  };
  assert.ok(topOf(width / 2) < topOf(0) - 50 && topOf(0) < height, `${topOf(0)} and ${topOf(width / 2)}`);
});

test("demo as JSON, to another file, and where no file can be", async (t) => {
  const cwd = await folder(t);
  const { code, stdout, stderr } = await leastwise(["demo", "--backend", "cpu", "--json", "-o", "bent.png"], cwd);
  assert.equal(code, 0, stderr);
  const { backend, vertices, cost, initialCost, termination } = JSON.parse(stdout);
  assert.deepEqual([backend, vertices, termination], ["cpu", 2562, "converged"]);
  assert.ok(cost > 0 && cost < 0.1 * initialCost, stdout);
  assert.deepEqual(await readdir(cwd), ["bent.png"]);
  await mkdir(join(cwd, "taken"));
  const refused = await leastwise(["demo", "-o", "taken"], cwd);
  assert.deepEqual([refused.code, refused.stdout], [2, ""]);
  assert.match(refused.stderr, /taken is a folder/);
});

test("doctor says which backends there are, why not, and what would help", async (t) => {
  const cwd = await folder(t);
  const { code, stdout, stderr } = await leastwise(["doctor", "--json"], cwd);
  assert.equal(code, 0, stderr);
  const found = JSON.parse(stdout);
  assert.deepEqual([found.version, found.backends.map(({ name }) => name)], [version, ["cpu", "threads", "webgpu", "cuda"]]);
  const [cpu, , webgpu, cuda] = found.backends;
  assert.equal(cpu.works, true);
  assert.match(cpu.said, /^f64, the CPU was asked for; a small solve took [\d.]+ (ms|s)$/);
  // Whatever is not there has a reason, and a remedy.
  for (const { name, works, said, help } of found.backends) {
    assert.ok(said.length > 10, name);
    if (!works && name !== "threads") assert.ok(help?.length > 10, `${name}: ${said}`);
  }
  if (!cuda.works) assert.match(cuda.help, /leastwise-cuda/);
  if (webgpu.works) assert.match(webgpu.said, /^f32, WebGPU was asked for/);
  assert.match(found.auto, /^(cpu|webgpu|cuda) \(f\d\d\): ./);
  assert.match(found.pages, /Cross-Origin-Opener-Policy: same-origin.*Cross-Origin-Embedder-Policy/);
  // For people, and without a driver.
  const without = await leastwise(["doctor"], cwd, { VK_ICD_FILENAMES: "/nowhere.json", VK_DRIVER_FILES: "/nowhere.json" });
  assert.equal(without.code, 0, without.stderr);
  assert.match(without.stdout, new RegExp(`^leastwise ${version.replaceAll(".", "\\.")}, (Node|Bun|Deno) `));
  assert.match(without.stdout, /^  ✔ cpu +f64/m);
  if (process.platform === "linux") assert.match(without.stdout, /^  ✖ webgpu +.*no adapter.*\n +→ install a Vulkan driver/m);
});

test("their help", async (t) => {
  const cwd = await folder(t);
  for (const name of ["demo", "doctor"]) assert.match((await leastwise([name, "--help"], cwd)).stdout, new RegExp(`^leastwise ${name} — .*\n\nUsage: npx leastwise ${name} \\[options\\]\n`));
  const { stdout } = await leastwise(["--help"], cwd);
  assert.match(stdout, /^  demo +bend[^]*^  doctor +say/m);
  const misused = await leastwise(["doctor", "--backend", "cpu"], cwd);
  assert.deepEqual([misused.code, misused.stdout], [2, ""]);
});
