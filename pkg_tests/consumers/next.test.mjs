// Next, built by each of its two bundlers: a page in the browser, a route handler and a server component.
import { spawn } from "node:child_process";
import { test } from "node:test";
import assert from "node:assert/strict";
import { browse, found, node, project, solvesIn, tool } from "./support.mjs";

/** `next start`, until the test is over. Gives its address once it listens. */
async function start(t, folder) {
  const child = spawn(process.execPath, [tool("next", "dist/bin/next"), "start", "--hostname", "127.0.0.1", "--port", "0"],
    { cwd: folder, env: { ...process.env, NODE_TEST_CONTEXT: undefined, NEXT_TELEMETRY_DISABLED: "1" }, stdio: ["ignore", "pipe", "pipe"] });
  const ended = new Promise((resolve) => child.once("close", resolve));
  t.after(() => { child.kill(); return ended; });
  let said = "";
  return new Promise((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text) => {
        said += text;
        const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(said) ?? [];
        if (url && /Ready/.test(said)) resolve(url);
      });
    }
    child.once("close", (code) => reject(new Error(`next start ended with ${code}\n${said}`)));
  });
}

const text = async (url) => {
  const response = await fetch(url);
  const body = await response.text();
  assert.equal(response.status, 200, `${url}: ${body.slice(0, 2000)}`);
  return body;
};

for (const bundler of ["turbopack", "webpack"]) {
  test(`Next, ${bundler}`, async (t) => {
    const folder = project("next", `next-${bundler}`);
    await node([tool("next", "dist/bin/next"), "build", `--${bundler}`], { cwd: folder });
    const url = await start(t, folder);
    await t.test("route handler", async () => found(JSON.parse(await text(`${url}/api/solve`))));
    await t.test("server component", async () => {
      const [, result] = /<pre>result: (.*?)<\/pre>/.exec(await text(`${url}/server`)) ?? [];
      found(JSON.parse(result.replaceAll("&quot;", '"')));
    });
    await t.test("client component", async (t) => solvesIn(await browse(t), url));
  });
}
