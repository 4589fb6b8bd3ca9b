/** The page that trains a network on digits. A worker trains; here it is only drawn. */
import type { Digits } from "../../../examples/digits/data.mjs";
import { byId, complain, say, settle, watchErrors } from "../shell/notices.js";
import { mark } from "../shell/marks.js";
import { themeButton } from "../shell/theme.js";
import { makePad } from "./asking.js";
import { Chart } from "./chart.js";
import { Controls } from "./controls.js";
import { Facts } from "./facts.js";
import { showDigits } from "./gallery.js";
import { Trainer, type Session } from "./session.js";

declare global {
  /** What the browser tests look at. */
  interface Window { leastwiseDigits?: { session(): Session | undefined } }
}

watchErrors();
themeButton();

const chart = new Chart(byId("curve") as HTMLCanvasElement), facts = new Facts();
let trainer: Trainer, testing: Digits;

const controls = new Controls({
  train: () => void train().catch(failed),
  stop: () => trainer.session?.stop(),
  reset: () => void reset().catch(failed),
  changed: () => void reset().catch(failed),
});
const ask = makePad(() => trainer?.session);

/** A worker of its own, and the digits in it. */
async function start(): Promise<void> {
  controls.state("busy");
  say("Loading 10,000 digits…");
  trainer?.end();
  trainer = new Trainer({
    steps: (session) => {
      const { curve, smoothed, total } = session;
      say("");
      chart.show(session);
      facts.step(session);
      byId("progress").textContent = `step ${curve.length.toLocaleString("en")} of ${total.toLocaleString("en")}, loss ${smoothed.at(-1)!.toFixed(3)}`;
    },
    tested: (session, { names }) => {
      chart.show(session);
      facts.tested(session, testing.count);
      showDigits(testing, names);
      ask();
    },
    lost: failed,
    failed,
  });
  // The engine starts while the digits are on their way.
  const opening = open();
  opening.catch(() => {});
  testing = await trainer.load();
  showDigits(testing);
  mark("picture");
  begin(await opening);
}

/** A network as it is chosen. */
function open(): Promise<Session> {
  controls.state("busy");
  const { network, seed, backend } = controls.wishes;
  return trainer.open(backend, network, seed);
}

/** Back to the beginning, on the engine that is chosen. */
async function reset(): Promise<void> { begin(await open()); }

function begin(session: Session): void {
  const { place, total } = session;
  if (place.why) controls.withoutWebGpu();
  facts.place(place);
  facts.clear();
  facts.tested(session, testing.count);
  chart.show(session);
  byId("progress").textContent = `${place.epochs} epochs: ${total.toLocaleString("en")} steps of 50 digits`;
  showDigits(testing);
  ask();
  say("");
  controls.state("fresh");
  mark("interactive");
}

async function train(): Promise<void> {
  if (trainer.session?.done) await reset();
  const { session } = trainer;
  if (!session || session.running) return;
  controls.state("training");
  if (session.curve.length === 0) say(controls.wishes.backend === "auto" ? "Measuring, and compiling kernels…" : "Compiling kernels…");
  await session.run();
  say("");
  const last = session.tests.at(-1);
  if (session.done && last) byId("progress").textContent = `Done: ${(100 * last.accuracy).toFixed(1)} % of ${testing.count.toLocaleString("en")} digits that it never saw are named right.`;
  controls.state(session.done ? "done" : "stopped");
}

/** A failure of the worker, of its device or of a step: told, and the visitor may start again with a new worker. */
function failed(thrown: unknown): void {
  controls.state("busy");
  complain(thrown, { label: "Start again", act: () => { settle(); void start().catch(failed); } });
}

start().then(() => { window.leastwiseDigits = { session: () => trainer.session }; }).catch(failed);
