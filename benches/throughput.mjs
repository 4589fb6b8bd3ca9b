// `npm run bench -- throughput [--rows=1000000] [--dim=384] [--queries=10000] [--backends=cuda,webgpu] [--python=python3]`: batches of queries, the 10
// nearest of each, against vectors like embeddings, on GPUs, beside PyTorch's exact search in fp16 of the same vectors on the same device.
// Recall is counted against PyTorch's search in f32, or, without a Python that has PyTorch, not at all.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { machine } from "./lib/machine.mjs";
import { measure } from "./lib/measure.mjs";
import { short } from "./lib/table.mjs";

const K = 10;
/** Queries whose exact neighbours are found. */
const JUDGED = 1000;
const CODES = [{ code: "int8" }, { ratio: 0.125 }];
const LIMIT = 110;

function options(args) {
  const given = { rows: 1e6, dim: 384, queries: 10000, backends: ["cuda", "webgpu"], python: undefined };
  for (const arg of args) {
    const [name, value] = arg.replace(/^--/, "").split("=", 2);
    if (["rows", "dim", "queries"].includes(name) && Number.isSafeInteger(Number(value)) && Number(value) > 0) given[name] = Number(value);
    else if (name === "backends" && value) given.backends = value.split(",");
    else if (name === "python" && value) given.python = value;
    else throw new Error(`bench -- throughput has no "${arg}", only --rows=, --dim=, --queries=, --backends=cpu,cuda,webgpu and --python=PYTHON`);
  }
  return given;
}

function pytorch({ python, rows, dim, queries }, folder) {
  if (!python) return console.log("PyTorch is not beside it, and recall is not counted: --python=PYTHON names a Python that has it.");
  try {
    const script = fileURLToPath(new URL("torch_throughput.py", import.meta.url));
    execFileSync(python, [script, folder, ...[rows, dim, queries, JUDGED, K].map(String)], { stdio: ["ignore", "inherit", "pipe"], timeout: 1000 * LIMIT });
  } catch (error) {
    console.log(`PyTorch is not beside it: ${python} did not run benches/torch_throughput.py (${`${error.stderr ?? error.message}`.trim().split("\n").at(-1)}).`);
  }
}

/** Share of the k truly nearest that were found. */
export function recall(folder, ids) {
  let truth;
  try {
    truth = new Int32Array(new Uint8Array(readFileSync(join(folder, "truth.i32"))).buffer);
  } catch {
    return undefined;
  }
  let found = 0;
  for (let query = 0; query < truth.length; query += K) {
    const own = new Set(ids.subarray(query, query + K));
    for (let at = query; at < query + K; at++) found += own.has(truth[at]);
  }
  return found / truth.length;
}

export async function throughput(args) {
  const given = options(args), folder = mkdtempSync(join(tmpdir(), "leastwise-throughput-"));
  try {
    const host = machine();
    console.log(`${host.cpu}, ${host.cores} cores; node ${host.node}; ${host.commit}`);
    console.log(`${given.rows} × ${given.dim}, batches of ${given.queries} queries, the ${K} nearest; recall@${K} of ${Math.min(JUDGED, given.queries)} queries`);
    const made = await measure({ what: "data", folder, ...given }, LIMIT, "throughput-row.mjs");
    if (made.cut) return console.log(made.cut);
    pytorch(given, folder);
    for (const code of CODES) {
      for (const backend of given.backends) {
        const row = await measure({ what: "search", folder, ...given, backend, code, k: K }, LIMIT, "throughput-row.mjs");
        const name = `${backend}, ${code.code ?? `ratio ${code.ratio}`}`;
        if (row.buildMs) console.log(`${name}: ${row.opened ? "opened" : "compressed"} in ${short(row.buildMs / 1000)} s, ${short(row.bytes / given.rows)} bytes a vector, on ${row.adapter}`);
        if (row.ms) {
          console.log(`${name}: ${short(row.ms)} ms a batch (first ${short(row.firstMs)}), ${short((1000 * given.queries) / row.ms)} queries/s, by ${row.searchedBy}, recall ${row.recall?.toFixed(4) ?? "not counted"}${row.reason ? ` (${row.reason})` : ""}`);
        }
        if (row.cut) console.log(`${name}: ${row.cut}`);
      }
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}
