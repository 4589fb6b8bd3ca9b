/**
 * What a worker of `leastwise/threads` runs: the engine's module over the memory that all threads share, with a stack of its own.
 * It is a file of its own and imports nothing, so that bundlers can take it along as it is.
 */

interface Start { readonly module: WebAssembly.Module; readonly memory: WebAssembly.Memory; readonly crew: number }

/** What the module gives a worker. Its names are those of `src/js/threads.rs` and of wasm-bindgen. */
interface Exports {
  /** Gives this thread a stack and data of its own. */
  __wbindgen_start(stackBytes: number): void;
  __wbindgen_thread_destroy(): void;
  thread_serve(crew: number): void;
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

async function start(port: Port, given: Start): Promise<void> {
  let exports: Exports | undefined;
  try {
    exports = (await WebAssembly.instantiate(given.module, importsOf(given))).exports as unknown as Exports;
    exports.__wbindgen_start(0);
    port.post({ ready: true });
    exports.thread_serve(given.crew);
    exports.__wbindgen_thread_destroy();
  } catch (thrown) {
    // The engine's thread may be waiting, and hears no message until it is told.
    exports?.thread_fail();
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
