// Everything that may come in place of the module, one after the other in one process; then the module. Prints what each was told.
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { fileURLToPath, pathToFileURL } from "node:url";
import { dirname, join } from "node:path";
import { init, LeastwiseError } from "leastwise";

const file = join(dirname(fileURLToPath(import.meta.resolve("leastwise"))), "wasm/leastwise_bg.wasm");
const bytes = await readFile(file);
const cut = bytes.subarray(0, 1000), page = "<!doctype html><title>Vite</title>";
const transferred = new Uint8Array(bytes);
structuredClone(transferred.buffer, { transfer: [transferred.buffer] });
const used = new Response(bytes, { headers: { "content-type": "application/wasm" } });
await used.arrayBuffer();

const server = createServer((request, response) => {
  if (request.url === "/page" || request.url.includes("/.vite/")) response.writeHead(200, { "content-type": "text/html" }).end(page);
  else if (request.url === "/wrong") response.writeHead(200, { "content-type": "application/wasm" }).end(page);
  else if (request.url === "/cut") response.writeHead(200, { "content-type": "application/wasm" }).end(cut);
  else if (request.url === "/module") response.writeHead(200, { "content-type": "application/wasm" }).end(bytes);
  else response.writeHead(404, { "content-type": "text/plain" }).end("nothing here");
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const at = (path) => `http://127.0.0.1:${server.address().port}/${path}`;

const sources = {
  page: new URL(at("page")), vite: new Request(at("node_modules/.vite/deps/wasm/leastwise_bg.wasm")), promised: fetch(at("missing")), rejected: { then: (_, no) => no(new Error("no line")) }, odd: Promise.resolve(7), wrong: at("wrong"), missing: new URL(at("missing")), cut: new URL(at("cut")), nobody: new URL("http://127.0.0.1:9/module.wasm"), relative: "/_next/static/media/leastwise_bg.wasm", path: "/nowhere/leastwise_bg.wasm",
  file: pathToFileURL("/nowhere/leastwise_bg.wasm"), empty: new Uint8Array(0), text: new TextEncoder().encode(page), bytes: cut, transferred, used,
  other: new WebAssembly.Module(Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0)), number: 3, object: {}, null: null, list: [bytes], call: () => bytes,
  disguised: { [Symbol.toStringTag]: "WebAssembly.Module" },
};
const told = {};
for (const [name, wasm] of Object.entries(sources)) {
  const error = await init({ backend: "cpu", wasm }).catch((thrown) => thrown);
  told[name] = error instanceof LeastwiseError ? [error.code, error.message.replaceAll(String(server.address().port), "PORT")] : String(error);
}
// What failed may be tried again; from then on the module is there.
const lw = await init({ backend: "cpu", wasm: at("module") });
told.module = lw.backend;
lw.dispose();
// What can't be a source is refused all the same.
const late = await init({ backend: "cpu", wasm: 3 }).catch((thrown) => thrown);
told.late = [late.code, late.message];
server.close();
console.log(JSON.stringify(told));
