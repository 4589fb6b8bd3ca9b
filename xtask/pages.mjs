// `npm run pages`: opens every live page in Chromium from a cold start, on the CPU and on WebGPU, and prints what a visitor waits for and downloads.
// Arguments after `--`: names of pages; `--starts 3`; `--backend cpu`.
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { cpus, loadavg } from "node:os";
import { dirname, extname, join, normalize, sep } from "node:path";
import { parseArgs } from "node:util";
import { brotliCompressSync } from "node:zlib";
import { chromium } from "playwright-core";
import { build } from "./build.mjs";
import { findChromium, hardwareGpu } from "./lib/gpu.mjs";
import { pagePackages } from "./lib/pages.mjs";
import { capture, entry, passThrough, StepError } from "./lib/run.mjs";
import { scratchProject } from "./lib/scratch.mjs";
import { setup } from "./setup.mjs";
import { PAGES } from "../www/pages.mjs";

/** Milliseconds that a page runs after its start, and that it has for that. */
const RUN_MS = 5000, LIMIT_MS = 120_000;
const BACKENDS = { cpu: ["--disable-features=WebGPU,WebGPUService", "--enable-unsafe-swiftshader"], webgpu: ["--enable-unsafe-webgpu"] };
const SOFTWARE = ["--use-webgpu-adapter=swiftshader", "--use-vulkan=swiftshader", "--use-angle=swiftshader", "--enable-features=Vulkan", "--ignore-gpu-blocklist"];
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm", ".jpg": "image/jpeg" };

/**
 * In the page, before its own scripts: tasks above 50 ms; scripts within frames above 50 ms, since a task also waits for what draws; and what scripts
 * take in each frame.
 */
function watch() {
  window.watched = { tasks: [], scripts: [], frames: [] };
  const { tasks, scripts } = window.watched;
  new PerformanceObserver((list) => { for (const { startTime, duration } of list.getEntries()) tasks.push([startTime, duration]); }).observe({ type: "longtask", buffered: true });
  new PerformanceObserver((list) => { for (const frame of list.getEntries()) for (const { startTime, duration } of frame.scripts) scripts.push([startTime, duration]); }).observe({ type: "long-animation-frame", buffered: true });
  const request = window.requestAnimationFrame.bind(window);
  let frame = 0, spent = 0;
  window.requestAnimationFrame = (work) => request((now) => {
    const started = performance.now();
    // Callbacks of one frame have one time.
    if (now !== frame) { if (frame) window.watched.frames.push([frame, spent]); frame = now; spent = 0; }
    try { work(now); } finally { spent += performance.now() - started; }
  });
}

/** What a page came to: marks of its start, the longest script before it is interactive, long tasks, scripts and frames after that. */
const look = () => {
  const at = (name) => performance.getEntriesByName(`leastwise ${name}`)[0]?.startTime, [picture, interactive] = [at("picture"), at("interactive")];
  const after = (list) => list.filter(([start]) => start >= interactive).map(([, ms]) => ms), { tasks, scripts, frames } = window.watched;
  const start = Math.max(0, ...scripts.filter(([start]) => start < interactive).map(([, ms]) => ms));
  return { picture, interactive, start, tasks: after(tasks), scripts: after(scripts).filter((ms) => ms > 50), frames: after(frames), said: document.querySelector("#status")?.textContent };
};

function serve(folder) {
  const server = createServer((request, response) => {
    const path = normalize(join(folder, decodeURIComponent(new URL(request.url, "http://localhost").pathname)));
    let bytes;
    try { bytes = path.startsWith(folder + sep) ? readFileSync(path) : undefined; } catch { /* told below */ }
    response.writeHead(bytes ? 200 : 404, { "content-type": TYPES[extname(path)] ?? "application/octet-stream" }).end(bytes);
  });
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
}

const median = (list) => list.toSorted((a, b) => a - b)[list.length >> 1];
const share = (list, part) => list.toSorted((a, b) => a - b)[Math.floor(part * (list.length - 1))];
const kilobytes = (bytes) => `${(bytes / 1000).toFixed(0)} KB`;

/** One cold start: a browser of its own, whose caches are empty. */
async function start(address, file, backend) {
  const args = ["--headless=new", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", ...BACKENDS[backend], ...(backend === "webgpu" && !hardwareGpu() ? SOFTWARE : [])];
  const browser = await chromium.launch({ executablePath: findChromium(), headless: true, chromiumSandbox: false, args });
  try {
    const tab = await browser.newPage({ viewport: { width: 1280, height: 800 } }), got = new Map();
    tab.on("response", (response) => {
      const url = new URL(response.url());
      if (/\.(js|wasm)$/.test(url.pathname)) got.set(url.pathname, undefined);
    });
    await tab.addInitScript(watch);
    await tab.goto(file === "digits" ? `${address}/digits.html?backend=${backend}` : `${address}/${file}.html#backend=${backend}`);
    await tab.waitForFunction(() => performance.getEntriesByName("leastwise interactive").length || document.querySelector("#status.error"), undefined, { timeout: LIMIT_MS });
    await new Promise((resolve) => setTimeout(resolve, RUN_MS));
    const seen = await tab.evaluate(look);
    if (seen.interactive === undefined) throw new StepError(`${file}, ${backend}: ${seen.said}`);
    return { ...seen, files: [...got.keys()] };
  } finally {
    await browser.close();
  }
}

await entry(import.meta, async () => {
  const { values: { starts, backend: wanted, out }, positionals } = parseArgs({ allowPositionals: true, options: { starts: { type: "string", default: "3" }, backend: { type: "string" }, out: { type: "string" } } });
  await setup();
  const sources = await scratchProject("www", { tarball: await build(), packages: pagePackages, sources: "www" }), dist = join(sources, "dist");
  await passThrough("vite build", process.execPath, [join(dirname(sources), "node_modules/vite/bin/vite.js"), "build"], { cwd: sources });
  const server = await serve(dist), address = `http://127.0.0.1:${server.address().port}`, known = new Map();
  const compressed = (path) => { if (!known.has(path)) known.set(path, brotliCompressSync(readFileSync(join(dist, path))).length); return known.get(path); };
  const files = ["index", ...PAGES.map(({ file }) => file)].filter((file) => !positionals.length || positionals.includes(file));
  const lines = [
    `Live pages from a cold start: ${cpus()[0].model}, ${cpus().length} cores, ${hardwareGpu() ? "its GPU" : "software WebGPU and WebGL (SwiftShader)"}, load ${loadavg()[0].toFixed(1)}, at ${capture("git", ["rev-parse", "--short", "HEAD"])}, ${new Date().toISOString().slice(0, 10)}.`,
    `Command: npm run pages${process.argv.length > 2 ? ` -- ${process.argv.slice(2).join(" ")}` : ""}. Medians of ${starts} starts, each of a fresh browser at 1280 × 800; then the page runs for ${RUN_MS / 1000} s.`,
    "picture, interactive: ms after navigation. start: ms of the longest script before interactive. Within the run: tasks above 50 ms, and the longest;",
    "scripts above 50 ms, and the longest: a task that is no script waits for what draws. frame: ms of scripts in a frame, median and 95 %.",
    "JS: ours, brotli, without three.js and the editor. wasm: brotli.", "",
    "page         backend   picture  interactive  start  tasks  longest  scripts  longest  frame    95 %       JS      wasm",
  ];
  for (const line of lines) console.log(line);
  for (const file of files) {
    for (const backend of wanted ? [wanted] : Object.keys(BACKENDS)) {
      const runs = [];
      for (let k = 0; k < Number(starts); k++) runs.push(await start(address, file, backend));
      const middle = (of) => median(runs.map(of)), paths = [...new Set(runs.flatMap(({ files }) => files))];
      const total = (kind) => kilobytes(paths.filter((path) => kind.test(path) && !/\/(three|editor)-/.test(path)).reduce((sum, path) => sum + compressed(path), 0));
      const cells = [[file, -13], [backend, -8], [middle(({ picture }) => picture).toFixed(0), 9], [middle(({ interactive }) => interactive).toFixed(0), 13], [middle(({ start }) => start).toFixed(0), 7], [String(middle(({ tasks }) => tasks.length)), 7],
        [middle(({ tasks }) => Math.max(0, ...tasks)).toFixed(0), 9], [String(middle(({ scripts }) => scripts.length)), 9], [middle(({ scripts }) => Math.max(0, ...scripts)).toFixed(0), 9], [middle(({ frames }) => (frames.length ? share(frames, 0.5) : 0)).toFixed(1), 7], [middle(({ frames }) => (frames.length ? share(frames, 0.95) : 0)).toFixed(1), 8], [total(/\.js$/), 9], [total(/\.wasm$/), 10]];
      lines.push(cells.map(([text, width]) => (width < 0 ? text.padEnd(-width) : text.padStart(width))).join(""));
      console.log(lines.at(-1));
    }
  }
  server.close();
  if (out) writeFileSync(out, `${lines.join("\n")}\n`);
});
