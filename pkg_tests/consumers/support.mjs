// What the consumers' tests share: projects with the packed package in them, programs, pages, and what all of them must find.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const here = dirname(fileURLToPath(import.meta.url));
const require = createRequire(import.meta.url);

/** The folder whose node_modules has the hosts; `packed` in it has the package as npm installed it. */
export const hosts = dirname(here);
export const packed = join(hosts, "packed/node_modules/leastwise");
export const tarball = process.env.LEASTWISE_TARBALL;
export const full = Boolean(process.env.LEASTWISE_FULL);

/** A project of its own: the files of a consumer's folder, the program, and a copy of the package as npm installs it. */
export function project(consumer, name = consumer, { installed = true } = {}) {
  const folder = join(hosts, "projects", name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(dirname(folder), { recursive: true });
  cpSync(join(here, consumer), folder, { recursive: true });
  cpSync(join(here, "program.mjs"), join(folder, "program.mjs"));
  if (installed) cpSync(packed, join(folder, "node_modules/leastwise"), { recursive: true });
  return folder;
}

/** The path of a host's program. Fails where the host could not be installed here. */
export function tool(name, path) {
  let manifest;
  try {
    manifest = require.resolve(`${name}/package.json`);
  } catch {
    manifest = join(hosts, "node_modules", name, "package.json");
  }
  const file = join(dirname(manifest), path);
  assert.ok(existsSync(file), `${name} is not installed on this machine (${process.platform}, ${process.arch}): there is no ${file}. See what npm says in ${hosts}: npm ci`);
  return file;
}

/** Runs a program; its output. Fails with all that it said. */
export function execute(command, args, { cwd, env = {}, timeout = 300_000, expected = 0 } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env: { ...process.env, NODE_TEST_CONTEXT: undefined, NEXT_TELEMETRY_DISABLED: "1", ...env }, stdio: ["ignore", "pipe", "pipe"], timeout, killSignal: "SIGKILL" });
    const said = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"]) child[name].setEncoding("utf8").on("data", (text) => { said[name] += text; });
    child.on("error", reject);
    child.on("close", (code, signal) => {
      if (code === expected) resolve(said.stdout + (expected ? said.stderr : ""));
      else reject(new Error(`${[command, ...args].join(" ")} ended with ${signal ?? code}\n${said.stdout}${said.stderr}`));
    });
  });
}

export const node = (args, options) => execute(process.execPath, args, options);

/** What a program printed last is the result. */
export async function solves(command, args, options) {
  found(JSON.parse((await execute(command, args, options)).trim().split("\n").at(-1)));
}

/** The result of `run` in program.mjs, once more on this side: what a host hands over must be it. */
export function found({ backend, cost, limit, rate, termination, heaps, product }) {
  assert.deepEqual({ backend, termination, heaps, product }, { backend: "cpu", termination: "converged", heaps: [1, 1, 1, 0, 0, 0], product: [19, 22, 43, 50] });
  // Certified by NIST, as half the residual sum of squares.
  assert.ok(Math.abs(cost / 0.06227569447 - 1) < 1e-6, `the cost is ${cost}`);
  assert.ok(Math.abs(limit / 238.94212918 - 1) < 1e-6 && Math.abs(rate / 5.5015643181e-4 - 1) < 1e-6, `the parameters are ${limit}, ${rate}`);
}

const TYPES = { ".html": "text/html", ".js": "text/javascript", ".mjs": "text/javascript", ".wasm": "application/wasm", ".json": "application/json" };

/** Serves the files of a folder; `headers` is asked for those of a path. Gives the address. */
export async function serve(t, folder, headers = () => ({})) {
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url, "http://127.0.0.1");
    const path = pathname.endsWith("/") ? `${pathname}index.html` : pathname;
    const body = path === "/favicon.ico" ? Buffer.of() : await readFile(join(folder, path)).catch(() => undefined);
    response.writeHead(body ? 200 : 404, { "content-type": body ? TYPES[extname(path)] ?? "application/octet-stream" : "text/plain", ...headers(path) });
    response.end(body ?? "not found");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  return `http://127.0.0.1:${server.address().port}/`;
}

/** Chromium without WebGPU, closed when the test is over. */
export async function browse(t) {
  const executablePath = process.env.LEASTWISE_CHROMIUM;
  assert.ok(executablePath, "LEASTWISE_CHROMIUM does not say where the browser is: run the tests through `npm test`");
  const browser = await chromium.launch({ executablePath, headless: true, chromiumSandbox: false,
    args: ["--headless=new", "--disable-features=WebGPU,WebGPUService", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"] });
  t.after(() => browser.close());
  return browser;
}

/** Opens a page that promises its result as `window.result`; gives that, or throws what it was rejected with. */
export async function opened(browser, url) {
  const tab = await browser.newPage();
  const problems = [];
  tab.on("pageerror", (error) => problems.push(error.stack ?? String(error)));
  tab.on("console", (message) => { if (message.type() === "error") problems.push(message.text()); });
  try {
    await tab.goto(url);
    await tab.waitForFunction(() => window.result !== undefined, undefined, { timeout: 60_000 }).catch((error) => { throw new Error(`${url} has no result\n${problems.join("\n")}`, { cause: error }); });
    const result = await tab.evaluate(() => window.result.then((value) => ({ value }), (error) => ({ error: { name: error.name, code: error.code, message: error.message } })));
    return { ...result, problems };
  } finally {
    await tab.close();
  }
}

/** Opens a page on which nothing may go wrong, and that must find what is to be found. */
export async function solvesIn(browser, url) {
  const { value, error, problems } = await opened(browser, url);
  assert.deepEqual({ error, problems }, { error: undefined, problems: [] }, url);
  found(value);
}

export const json = (path) => JSON.parse(readFileSync(path, "utf8"));
