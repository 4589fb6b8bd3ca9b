// Compiled, never run: the types of `leastwise/threads`.
import { init as initPlain, type Engine } from "leastwise";
import { column, huber, init, LeastwiseError, type InitOptions, type Problem, type ThreadedEngine, type Threads, type ThreadsCode, type ThreadsOptions } from "leastwise/threads";

export async function onThreads(options: InitOptions): Promise<string> {
  const lw: ThreadedEngine = await init({ ...options, threads: 4 });
  const asPlain: Engine = lw;
  const { count, code, reason }: Threads = lw.threads;
  const isOn: boolean = code === "on" && count > 1;
  const why: ThreadsCode = code;
  // @ts-expect-error there is no such code
  const other: ThreadsCode = "off";
  // @ts-expect-error how many threads there are is not for writing
  lw.threads.count = 3;
  // @ts-expect-error a number is meant
  await init({ threads: "4" });
  // @ts-expect-error engines of "leastwise" have one thread
  await initPlain({ threads: 2 });
  // @ts-expect-error and do not say so
  (await initPlain()).threads;
  const given: ThreadsOptions = { backend: "cpu", precision: "f64", threadedWasm: new URL("https://example.org/threaded_bg.wasm") };
  await init(given);
  const problem: Problem = asPlain.problem();
  problem.residuals("t", { of: [problem.variables("x", { shape: 1, values: [1] })], data: { y: column([1], 1) }, loss: huber(1) }, ([x], { y }) => x.sub(y));
  if (!isOn) throw new Error(`${why} ${other} ${reason} ${LeastwiseError.name}`);
  using threads = lw;
  return threads.reason;
}
