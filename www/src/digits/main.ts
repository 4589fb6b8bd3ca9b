/** The page that trains a network on digits. */
import { convolutional, perceptron } from "../../../examples/digits/networks.mjs";
import { byId, complain, say, watchErrors } from "../shell/notices.js";
import { themeButton } from "../shell/theme.js";
import { makePad } from "./asking.js";
import { Chart } from "./chart.js";
import { Controls } from "./controls.js";
import { loadDigits } from "./data.js";
import { engineOf } from "./engines.js";
import { Facts } from "./facts.js";
import { showDigits } from "./gallery.js";
import { Session } from "./session.js";

const NETWORKS = { perceptron, convolutional };

declare global {
  /** What the browser tests look at. */
  interface Window { leastwiseDigits?: { session(): Session | undefined } }
}

watchErrors();
themeButton();

async function start(): Promise<void> {
  const chart = new Chart(byId("curve") as HTMLCanvasElement), facts = new Facts();
  let session: Session | undefined;
  const ask = makePad(() => session);
  const controls = new Controls({
    train: () => void train().catch(complain),
    stop: () => session?.stop(),
    reset: () => void reset().catch(complain),
    changed: () => void reset().catch(complain),
  });
  controls.state("busy");
  say("Loading 10,000 digits…");
  const { training, testing } = await loadDigits();

  /** Back to the beginning, on the engine that is chosen. */
  async function reset(): Promise<void> {
    controls.state("busy");
    await session?.dispose();
    session = undefined;
    const { engine, why } = await engineOf(controls.wishes.backend);
    if (why) controls.withoutWebGpu();
    facts.engine(engine, why);
    facts.clear();
    facts.tested({ tests: [], testing });
    const { network, seed } = controls.wishes;
    session = new Session(engine, NETWORKS[network], seed, training, testing);
    chart.show(session);
    byId("progress").textContent = `${NETWORKS[network].epochs} epochs: ${session.total.toLocaleString("en")} steps of 50 digits`;
    showDigits(testing);
    ask();
    say("");
    controls.state("fresh");
  }

  async function train(): Promise<void> {
    if (session?.done) await reset();
    const current = session;
    if (!current || current.running) return;
    controls.state("training");
    if (current.curve.length === 0) say(controls.wishes.backend === "auto" ? "Measuring, and compiling kernels…" : "Compiling kernels…");
    await current.run(() => {
      if (current.curve.length === 1) say("");
      chart.show(current);
      facts.step(current);
      const { curve, smoothed, total } = current;
      byId("progress").textContent = `step ${curve.length.toLocaleString("en")} of ${total.toLocaleString("en")}, loss ${smoothed.at(-1)!.toFixed(3)}`;
    }, () => {
      chart.show(current);
      facts.tested(current);
      showDigits(testing, current.tests.at(-1)!.names);
      ask();
    });
    say("");
    const last = current.tests.at(-1);
    if (current.done && last) byId("progress").textContent = `Done: ${(100 * last.accuracy).toFixed(1)} % of ${testing.count.toLocaleString("en")} digits that it never saw are named right.`;
    controls.state(current.done ? "done" : "stopped");
  }

  await reset();
  window.leastwiseDigits = { session: () => session };
}

start().catch(complain);
