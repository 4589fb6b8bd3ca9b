// Vite: its development server, its builds, and workers; in full, the two major versions before as well.
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { browse, full, project, serve, solvesIn, tool } from "./support.mjs";

const versions = { 8: "vite", ...(full && { 7: "vite-7", 5: "vite-5" }) };

for (const [version, name] of Object.entries(versions)) {
  test(`Vite ${version}`, async (t) => {
    process.env.LEASTWISE_VITE = version;
    const folder = project("vite", `vite-${version}`);
    const vite = await import(pathToFileURL(tool(name, "dist/node/index.js")).href);
    const browser = await browse(t);

    await t.test("development server", async (t) => {
      const server = await vite.createServer({ root: folder, logLevel: "error", server: { host: "127.0.0.1", port: 0 } });
      t.after(() => server.close());
      await server.listen();
      const [url] = server.resolvedUrls.local;
      await solvesIn(browser, url);
      await solvesIn(browser, `${url}with-worker.html`);
    });

    await t.test("build", async (t) => {
      await vite.build({ root: folder, logLevel: "warn" });
      const url = await serve(t, join(folder, "dist"));
      await solvesIn(browser, url);
      await solvesIn(browser, `${url}with-worker.html`);
    });
  });
}
