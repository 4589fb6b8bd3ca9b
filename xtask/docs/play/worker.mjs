// Runs one program of the playground: its imports become addresses of this site, its console and its exports are sent to the page.
import { draw, pictured } from "./pictures/index.mjs";

const here = new URL("./", import.meta.url);
const addressOf = (name) => {
  if (name === "node:assert/strict") return new URL("assert.mjs", here).href;
  if (name === "playground") return new URL("helpers.mjs", here).href;
  const entry = name.match(/^leastwise(?:\/(autograd|energies|mesh|mesh\/files|nn|sketch|three|vectors))?$/);
  return entry ? new URL(`leastwise/${entry[1] ?? "main"}.js`, here).href : undefined;
};

const shown = (value) => {
  if (typeof value === "string") return value;
  if (value instanceof Error) return value.stack ?? String(value);
  if (ArrayBuffer.isView(value)) return `${value.constructor.name}(${value.length}) [${[...value.subarray(0, 12)].map((v) => +v.toPrecision(7)).join(", ")}${value.length > 12 ? ", …" : ""}]`;
  if (typeof value !== "object" || value === null || (value.toString !== Object.prototype.toString && !Array.isArray(value))) return String(value);
  const text = JSON.stringify(value, (_, v) => (ArrayBuffer.isView(v) ? [...v] : v));
  return text.length > 400 ? `${text.slice(0, 400)}…` : text;
};
const say = (line) => postMessage({ line });
for (const level of ["log", "info", "warn", "error"]) console[level] = (...values) => say(values.map(shown).join(" "));

onmessage = async ({ data: { program, name } }) => {
  try {
    const text = program.replace(/(\bfrom\s*|\bimport\s*)(["'])([^"'\n]+)\2/g, (whole, before, quote, specifier) => {
      const address = addressOf(specifier);
      return address ? `${before}${quote}${address}${quote}` : whole;
    });
    const started = performance.now();
    const results = await import(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
    for (const [key, value] of Object.entries(results)) if (typeof value !== "function") say(`${key} = ${shown(value)}`);
    if (pictured(name)) {
      try {
        postMessage({ picture: draw(name, results, name) });
      } catch (error) {
        say(`No picture: ${error.message}`);
      }
    }
    say(`Done in ${Math.round(performance.now() - started)} ms.`);
    postMessage({ done: "" });
  } catch (error) {
    const code = error?.code ? ` (${error.code})` : "";
    postMessage({ done: `\n${error?.name ?? "Error"}${code}: ${error?.message ?? error}`, syntax: error instanceof SyntaxError });
  }
};
