// The built site in Chromium: links, the playground as a person uses it, the benchmark on tiny sizes. `npm run docs -- --test` builds the site before it runs these.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { extname, join } from "node:path";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";
import { findChromium } from "../lib/gpu.mjs";
import { root } from "../lib/run.mjs";
import { languageOf } from "./play/language.mjs";

const site = join(root, "target/docs"), TYPES = { ".html": "text/html", ".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css", ".json": "application/json", ".svg": "image/svg+xml", ".wasm": "application/wasm" };

/** The file that is served for a path, as hosts of static sites do. */
const fileOf = (path) => [path, `${path}.html`, join(path, "index.html")].map((name) => join(site, name)).find((name) => existsSync(name) && statSync(name).isFile());

let server, address, browser;
before(async () => {
  server = createServer((request, response) => {
    const file = fileOf(decodeURI(new URL(request.url, "http://site").pathname));
    response.writeHead(file ? 200 : 404, { "content-type": TYPES[extname(file ?? "")] ?? "application/octet-stream" });
    response.end(file ? readFileSync(file) : "");
  });
  await new Promise((resolve) => { server.listen(0, "127.0.0.1", resolve); });
  address = `http://127.0.0.1:${server.address().port}`;
  browser = await chromium.launch({ executablePath: findChromium(), headless: true, chromiumSandbox: false });
});
after(async () => {
  await browser?.close();
  server?.close();
});

/** A tab in which nothing may go wrong. */
async function open(t, path, options = {}) {
  const tab = await browser.newPage({ viewport: { width: 1280, height: 900 }, ...options }), wrong = [];
  tab.setDefaultTimeout(120_000);
  tab.on("pageerror", (error) => wrong.push(String(error.stack ?? error)));
  tab.on("response", (answer) => { if (answer.status() >= 400) wrong.push(`${answer.status()} ${answer.url()}`); });
  t.after(async () => {
    await tab.close();
    assert.deepEqual(wrong, []);
  });
  await tab.goto(`${address}${path}`);
  return tab;
}

const pages = () => readdirSync(site, { recursive: true }).filter((name) => name.endsWith(".html"));

test("links within the site lead to pages, files and headings", () => {
  const texts = new Map(), read = (file) => texts.get(file) ?? texts.set(file, readFileSync(file, "utf8")).get(file), wrong = new Set();
  for (const page of pages().filter((name) => name !== "404.html")) {
    for (const [, link] of read(join(site, page)).matchAll(/<(?:a|img|link|script)\b[^>]*?\b(?:href|src)="([^"]+)"/g)) {
      if (/^(\w+:|\/\/)/.test(link)) continue;
      const to = new URL(link.replaceAll("&amp;", "&"), `http://site/${page}`), file = fileOf(decodeURI(to.pathname));
      if (!file) wrong.add(`${page} → ${link}`);
      else if (to.hash.length > 1 && file.endsWith(".html") && !read(file).includes(` id="${decodeURIComponent(to.hash.slice(1))}"`)) wrong.add(`${page} → ${link}`);
    }
  }
  assert.ok(texts.size > 100, `${texts.size} pages`);
  assert.deepEqual([...wrong], []);
});

test("programs of the playground have no errors for the language service, and mistakes have", () => {
  const ts = createRequire(join(root, "target/docs-tools/package.json"))("typescript");
  const files = new Map(Object.entries(JSON.parse(readFileSync(join(site, "play/declarations.json"), "utf8")))), language = languageOf(ts, files);
  const programs = readdirSync(join(site, "play/recipes"));
  assert.ok(programs.length > 30, `${programs.length} programs`);
  for (const name of programs) assert.deepEqual(language.errors(readFileSync(join(site, "play/recipes", name), "utf8")), [], name);
  const wrong = `import { init } from "leastwise";\nconst lw = await init({ backend: "cqu" });\nlw.problem().solvee();\n`;
  assert.deepEqual(language.errors(wrong).map(({ from, to }) => wrong.slice(from, to)), ["backend", "solvee"]);
  assert.deepEqual(language.errors("import { nothing } from 'leastwise';").length, 1);
  const begun = `import { init } from "leastwise";\nconst lw = await init();\nlw.pro`;
  assert.deepEqual(language.completions(begun, begun.length).options.map(({ label }) => label), ["problem"]);
});

const output = (tab) => tab.locator(".playground .result pre").textContent();
const write = async (tab, text) => {
  await tab.locator(".cm-content").click();
  await tab.keyboard.press("Control+a");
  await tab.keyboard.insertText(text);
};

test("the playground runs a recipe, and its picture is drawn", async (t) => {
  const tab = await open(t, "/play");
  await tab.locator(".cm-content").waitFor();
  await tab.locator("button.run").click();
  await tab.getByText(/Done in \d+ ms/).waitFor();
  assert.equal(await tab.locator(".result img").count(), 1);
  assert.match(tab.url(), /\?recipe=curve-fit$/);
  await tab.locator("select").first().selectOption("drawing");
  await tab.waitForURL(/\?recipe=drawing$/);
  await tab.locator("button.run").click();
  await tab.getByText(/Done in \d+ ms/).waitFor();
  assert.equal(await tab.locator(".result img").count(), 2, "a plot and a mesh");
});

test("the editor completes, shows types and marks errors", async (t) => {
  const tab = await open(t, "/play");
  await write(tab, `import { init } from "leastwise";\nconst lw = await init();\nlw.solvee();\n`);
  await tab.getByText("Completions, types and errors are there.").waitFor();
  await tab.locator(".cm-lintRange-error").waitFor();
  assert.equal(await tab.locator(".cm-lintRange-error").textContent(), "solvee");
  await tab.keyboard.type("lw.clu");
  await tab.locator(".cm-tooltip-autocomplete li").first().waitFor();
  assert.equal(await tab.locator(".cm-tooltip-autocomplete li").first().textContent(), "cluster");
  await tab.locator(".cm-completionInfo .signature").waitFor();
  await tab.keyboard.press("Escape");
  await tab.locator(".cm-line").nth(1).getByText("init").hover();
  await tab.locator(".cm-tooltip-hover .signature").waitFor();
  assert.match(await tab.locator(".cm-tooltip-hover .signature").textContent(), /init\(options\?: InitOptions\): Promise<Engine>[^]*Makes an engine\./);
});

test("a program in TypeScript runs, and its address holds it", async (t) => {
  const tab = await open(t, "/play");
  await tab.locator(".cm-content").waitFor();
  await write(tab, `const twice = (x: number): number => 2 * x;\nconsole.log("twice", twice(21));\n`);
  await tab.locator("button.run").click();
  await tab.getByText(/Done in \d+ ms/).waitFor();
  assert.match(await output(tab), /^twice 42$/m);
  await tab.getByText("Share").click();
  await tab.waitForURL(/#.{20}/);
  const other = await open(t, new URL(tab.url()).pathname + new URL(tab.url()).hash);
  await other.getByText("twice(21)").waitFor();
  // A fresh page has no language service, and the program is no JavaScript.
  await other.locator("button.run").click();
  await other.getByText(/Done in \d+ ms/).waitFor();
  assert.match(await output(other), /^twice 42$/m);
});

test("a program that never ends is ended, by its limit and by the button", async (t) => {
  const tab = await open(t, "/play");
  await tab.locator(".cm-content").waitFor();
  await write(tab, "for (;;) {}\n");
  await tab.locator("button.run").click();
  await tab.getByText("Ended: it ran for more than 10 s.").waitFor();
  await tab.locator("button.run").click();
  await tab.getByRole("button", { name: "Stop" }).click();
  await tab.getByText("Stopped.").waitFor();
  await write(tab, "console.log('goes on')\n");
  await tab.locator("button.run").click();
  await tab.getByText(/goes on/).last().waitFor();
});

test("the benchmark measures all that a CPU can, and their results agree", async (t) => {
  const tab = await open(t, "/bench");
  await tab.getByLabel("Sizes").selectOption("trial");
  await tab.getByLabel("CPU").check();
  if (await tab.getByLabel("WebGPU").isChecked()) await tab.getByLabel("WebGPU").uncheck();
  await tab.locator("button.run").click();
  await tab.getByText("Done.", { exact: true }).waitFor();
  const { rows, leastwise, commit, agent } = JSON.parse(await tab.locator("pre.json").textContent());
  assert.deepEqual(rows.filter(({ note }) => note), []);
  assert.ok(leastwise && commit && agent);
  const expected = {
    fit: ["leastwise, cpu f64", "leastwise, cpu f32", "ml-levenberg-marquardt"], springs: ["leastwise, cpu f64", "leastwise, cpu f32"], arap: ["leastwise, cpu f64", "leastwise, cpu f32"],
    clustering: ["leastwise, cpu", "ml-kmeans"], product: ["leastwise, cpu", "TensorFlow.js, cpu", "jax-js, wasm"], gradient: ["leastwise, cpu", "TensorFlow.js, cpu", "jax-js, wasm"],
  };
  const tolerance = { fit: 1e-3, springs: 1e-3, arap: 1e-3, clustering: 0.2, product: 1e-4, gradient: 1e-4 };
  for (const [problem, who] of Object.entries(expected)) {
    const own = rows.filter((row) => row.problem === problem);
    assert.deepEqual([...new Set(own.map((row) => row.who))], who);
    for (const { size, check } of own) {
      const first = own.find((row) => row.size === size).check;
      assert.ok(Math.abs(check - first) <= tolerance[problem] * Math.abs(first), `${problem}, ${size}: ${check} and ${first}`);
    }
    assert.ok(own.every(({ ms }) => Number.isFinite(ms)));
  }
  assert.equal(await tab.locator("section[data-problem] > img").count(), 6);
});

test("pages on screens of two widths, light and dark", async (t) => {
  const folder = join(root, "target/docs-screens");
  mkdirSync(folder, { recursive: true });
  for (const width of [390, 1280]) {
    for (const colorScheme of ["light", "dark"]) {
      const tab = await open(t, "/", { viewport: { width, height: 900 }, colorScheme });
      for (const path of ["/", "/START", "/recipes/", "/recipes/time-stepping", "/PERFORMANCE", "/api/", "/play", "/bench", "/errors/"]) {
        await tab.goto(`${address}${path}`, { waitUntil: "networkidle" });
        await tab.screenshot({ path: join(folder, `${path.replaceAll("/", "-").slice(1) || "home"}-${width}-${colorScheme}.png`) });
        const wider = await tab.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        assert.ok(wider <= 0, `${path} is ${wider} pixels wider than a screen of ${width}`);
      }
    }
  }
});
