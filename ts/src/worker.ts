/**
 * What a worker of `leastwise/threads` runs: the engine's module over the memory that all threads share, with a stack of its own.
 * It is a file of its own and imports nothing, so that bundlers can take it along as it is.
 */

interface Start { readonly module: WebAssembly.Module; readonly memory: WebAssembly.Memory; readonly generation: number }

/** What the module gives a worker. Its names are those of `src/js/threads.rs` and of wasm-bindgen. */
interface Exports {
  /** Gives this thread a stack and data of its own. */
  __wbindgen_start(stackBytes: number): void;
  __wbindgen_thread_destroy(): void;
  /** Works until it is dismissed, and then gives 0; before that, where four words are that say what is to be put into its table. */
  thread_serve(generation: number): number;
  thread_placed(done: number): void;
  thread_fail(): void;
}

/** A page's worker or Node's. */
interface Port {
  post(message: unknown): void;
  listen(heard: (message: unknown) => void): void;
  close(): void;
}

interface WorkerScope { postMessage?(message: unknown): void; addEventListener(type: "message", heard: (event: { data: unknown }) => void): void; close(): void }
interface ParentPort { postMessage(message: unknown): void; on(type: "message", heard: (message: unknown) => void): void; close(): void }

async function openPort(): Promise<Port> {
  const scope = globalThis as unknown as WorkerScope;
  if (scope.postMessage) {
    return {
      post: (message) => scope.postMessage!(message),
      listen: (heard) => scope.addEventListener("message", ({ data }) => heard(data)),
      close: () => scope.close(),
    };
  }
  const name = "node:worker_threads";
  const { parentPort: parent } = (await import(/* @vite-ignore */ /* webpackIgnore: true */ name)) as { parentPort: ParentPort };
  return { post: (message) => parent.postMessage(message), listen: (heard) => parent.on("message", heard), close: () => parent.close() };
}

/** Parts of a dispatch call nothing of JavaScript's, but the module must be given something for all that it imports. */
function importsOf({ module, memory }: Start): WebAssembly.Imports {
  const imports: Record<string, Record<string, WebAssembly.ImportValue>> = {};
  for (const { module: from, name, kind } of WebAssembly.Module.imports(module)) {
    const missing = () => { throw new Error(`a thread called ${name}, which only the engine's own thread can`); };
    const nothing = () => {};
    (imports[from] ??= {})[name] = kind === "memory" ? memory : name === "__wbindgen_init_externref_table" ? nothing : missing;
  }
  return imports;
}

/** The table that functions are called through; the other one holds JavaScript's values. */
function tableOf(exports: WebAssembly.Exports): WebAssembly.Table {
  const tables = Object.entries(exports).filter(([name, value]) => value instanceof WebAssembly.Table && name !== "__wbindgen_externrefs");
  return tables[0]![1] as WebAssembly.Table;
}

/**
 * Puts the function of a module that the engine wrote where the engine's own thread has it. Compiling at once is allowed here, and
 * the engine's thread does without this one meanwhile.
 */
function place(memory: WebAssembly.Memory, functions: WebAssembly.Table, told: number): void {
  const [place, at, bytes, apply] = new Uint32Array(memory.buffer, told, 4) as unknown as [number, number, number, number];
  if (functions.length <= place) functions.grow(place + 1 - functions.length);
  // Copied, since what is compiled may not lie in shared memory.
  const made = bytes && new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array(memory.buffer, at, bytes).slice()), { engine: { memory, apply: functions.get(apply) as () => void } });
  functions.set(place, made ? (made.exports["run"] as () => number) : null);
}

async function start(port: Port, given: Start): Promise<void> {
  let exports: Exports | undefined, serving = false;
  try {
    const all = (await WebAssembly.instantiate(given.module, importsOf(given))).exports;
    exports = all as unknown as Exports;
    const functions = tableOf(all);
    exports.__wbindgen_start(0);
    port.post({ ready: true });
    serving = true;
    for (let told; (told = exports.thread_serve(given.generation)) !== 0;) {
      let done = 1;
      try {
        place(given.memory, functions, told);
      } catch (thrown) {
        // The interpreter does the same.
        done = 0;
        port.post({ uncompiled: String(thrown) });
      }
      exports.thread_placed(done);
    }
    exports.__wbindgen_thread_destroy();
  } catch (thrown) {
    // The engine's thread may be waiting for one that was at work, and hears no message until it is told.
    if (serving) exports!.thread_fail();
    port.post({ failed: String(thrown) });
  }
  port.close();
}

void openPort().then((port) => {
  port.listen((message) => { void start(port, message as Start); });
  port.post({ loaded: true });
});

/** A module, although nobody imports it. */
export {};
