// What the browser tests share: pages built by Vite from the packed tarball, and a Chromium that has WebGPU.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { build, preview } from "vite";
import { randoms, SEED } from "../node/random.mjs";
import { FULL } from "../node/support.mjs";

const here = dirname(fileURLToPath(import.meta.url));

/** The scratch project: the nearest folder with an installed package. Files that tests write go there. */
export const project = above((folder) => existsSync(join(folder, "node_modules/leastwise/package.json")),
  "no folder above has the packed package installed: run the tests through `npm test`");

/** The repository. */
const repository = above((folder) => existsSync(join(folder, "www/vite.config.ts")) && existsSync(join(folder, "ts/src")), "the sources of www/ are in no folder above");

function above(wanted, otherwise) {
  for (let folder = here; ; folder = dirname(folder)) {
    if (wanted(folder)) return folder;
    if (folder === dirname(folder)) throw new Error(otherwise);
  }
}

const builtOf = (root) => join(project, "built", root.replaceAll(/\W+/g, "-"));

const buildInto = (root, outDir) => build({ root, logLevel: "warn", build: { outDir, emptyOutDir: true, target: "es2022", chunkSizeWarningLimit: 2500 } });

async function serveFolder(t, root, outDir, headers = {}) {
  const server = await preview({ root, configFile: false, logLevel: "warn", build: { outDir }, preview: { port: 0, host: "127.0.0.1", headers } });
  t.after(() => server.close());
  return server.resolvedUrls.local[0];
}

/** Builds a page with Vite and serves the result until the test is over. Gives its address. */
export async function serve(t, root) {
  await buildInto(root, builtOf(root));
  return serveBuilt(t, root);
}

/** Serves what {@link serve} built once more, with other headers. */
export const serveBuilt = (t, root, headers) => serveFolder(t, root, builtOf(root), headers);

/** A page of these tests, by the name of its folder. */
export const ownPage = (name) => join(here, name);

/** All that a build of the live pages is made of: their sources, the examples that they share, and the versions of all packages. */
function liveKey() {
  const hash = createHash("sha256");
  const add = (path) => {
    if (statSync(path).isDirectory()) for (const name of readdirSync(path).sort()) { if (name !== "node_modules" && name !== "dist") add(join(path, name)); }
    else hash.update(`\0${path}\0`).update(readFileSync(path));
  };
  for (const path of [join(repository, "www"), join(project, "examples"), join(project, "node_modules/.package-lock.json")]) add(path);
  return hash.digest("hex").slice(0, 16);
}

/**
 * Serves the live pages until the test is over. Whichever file comes first builds them, for all of them: from a copy in the project, where the
 * packed package is found. Gives their address and the folder.
 */
export async function serveLive(t) {
  const key = liveKey(), folder = join(project, "built", `www-${key}`);
  if (!existsSync(folder)) {
    // Two files may do so at once: each with a copy of its own, and what is done first stays.
    const copy = join(project, `www-${process.pid}`), made = `${folder}-${process.pid}`;
    cpSync(join(repository, "www"), copy, { recursive: true, filter: (path) => !/[\\/](node_modules|dist)$/.test(path) });
    try { await buildInto(copy, made); } finally { rmSync(copy, { recursive: true, force: true }); }
    for (const name of readdirSync(join(project, "built"))) if (/^www-[0-9a-f]{16}$/.test(name) && name !== `www-${key}`) rmSync(join(project, "built", name), { recursive: true, force: true });
    try { renameSync(made, folder); } catch { rmSync(made, { recursive: true, force: true }); }
  }
  return { address: await serveFolder(t, project, folder), folder };
}

// Compositor and WebGPU on the same software Vulkan device: on different ones, a canvas cannot be shown and the device is lost.
const SOFTWARE = ["--use-webgpu-adapter=swiftshader", "--use-vulkan=swiftshader", "--use-angle=swiftshader", "--enable-features=Vulkan", "--ignore-gpu-blocklist"];
const FLAGS = ["--enable-unsafe-webgpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

/** Chromium for one test, closed at its end. It must have a WebGPU adapter unless `webgpu` is false. */
export async function browse(t, { webgpu = true } = {}) {
  const software = process.env.LEASTWISE_GPU !== "hardware";
  const executablePath = process.env.LEASTWISE_CHROMIUM;
  assert.ok(executablePath, "LEASTWISE_CHROMIUM does not say where the browser is: run the tests through `npm test`");
  const args = webgpu ? [...FLAGS, ...(software ? SOFTWARE : [])] : [...FLAGS.slice(1), "--disable-features=WebGPU,WebGPUService", "--enable-unsafe-swiftshader"];
  const browser = await chromium.launch({ executablePath, headless: true, chromiumSandbox: false, args: ["--headless=new", ...args] });
  t.after(() => browser.close());
  return browser;
}

/** A quick run draws a quarter of the pixels, which is what software takes longest for, and asks for less motion: then SLAM is no film. */
export const WINDOW = { viewport: { width: 960, height: 640 }, ...(!FULL && { deviceScaleFactor: 0.5, reducedMotion: "reduce" }) };

/** A tab that keeps what went wrong in it: uncaught errors, and what was logged as an error or names a GPU's validation. */
export async function openTab(browser, url, options = {}) {
  const tab = await browser.newPage({ ...WINDOW, ...options });
  tab.setDefaultTimeout(120_000);
  const problems = [];
  tab.on("pageerror", (error) => problems.push(`uncaught: ${error.stack ?? error}`));
  tab.on("crash", () => problems.push("the tab crashed"));
  tab.on("console", (message) => {
    if (message.type() === "error" || /\[Invalid|validation|destroyed|GPUValidationError/i.test(message.text())) problems.push(`console ${message.type()}: ${message.text()}`);
  });
  await tab.goto(url);
  return { tab, problems };
}

/** Saves what the tab shows, and says where. */
export async function photograph(t, tab, name) {
  const folder = join(project, "screenshots");
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${name}.png`);
  await tab.screenshot({ path });
  t.diagnostic(`screenshot: ${path}`);
  return path;
}

/** Opens a live page and waits until it says nothing more, or what is wrong. What goes wrong in it fails the test. */
export async function openPage(t, browser, address, { problems: expected = [], ...options } = {}) {
  const { tab, problems } = await openTab(browser, address, options);
  t.after(async () => {
    await tab.close();
    assert.deepEqual(problems.filter((problem) => !expected.some((one) => one.test(problem))), []);
  });
  await settled(tab);
  return tab;
}

/** Waits until a live page has its engine, and its problem's first step behind it. */
export async function settled(tab) {
  await tab.waitForFunction(() => window.leastwisePage && (document.querySelector("#status.error") || ((window.leastwisePage.app?.built ?? 1) > 0 && document.querySelector("#status").textContent === "" && /CPU|WebGPU/.test(document.querySelector("#facts").textContent))));
}

/** So many of a list, drawn anew in every run; all of it in full. */
export function drawn(t, list, count) {
  if (FULL) return list;
  const random = randoms(list.length, 0, 1), left = [...list], found = Array.from({ length: count }, () => left.splice(Math.floor(random() * left.length), 1)[0]);
  t.diagnostic(`LEASTWISE_TEST_SEED=${SEED}: ${found.map(String).join(", ")}`);
  return found;
}

/** Waits until a condition holds of what `look` gives of `window.leastwisePage`; gives that. */
export async function until(tab, look, holds, what) {
  const limit = Date.now() + 120_000;
  for (;;) {
    const seen = await tab.evaluate(look);
    if (holds(seen)) return seen;
    assert.ok(Date.now() < limit, `${what}: still ${JSON.stringify(seen)}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Drags the mouse. */
export async function dragMouse(tab, from, dx, dy) {
  await tab.mouse.move(from.x, from.y);
  await tab.mouse.down();
  await tab.mouse.move(from.x + dx, from.y + dy, { steps: 5 });
  await tab.mouse.up();
}
