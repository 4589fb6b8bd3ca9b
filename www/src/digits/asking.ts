/** Asking the network about what was drawn. */
import { byId, complain } from "../shell/notices.js";
import { Pad } from "./pad.js";
import type { Session } from "./session.js";

const HINT = "With the mouse or a finger. It is named once something is trained.";

/** Sets the pad up; the function it gives asks again, whenever there is another network or a better one. */
export function makePad(session: () => Session | undefined): () => void {
  const answer = byId("answer"), scores = byId("scores");
  scores.replaceChildren(...Array.from({ length: 10 }, () => document.createElement("li")));
  const show = (words: string, probabilities?: ArrayLike<number>) => {
    answer.textContent = words;
    [...scores.children].forEach((bar, k) => (bar as HTMLElement).style.setProperty("--share", String(probabilities?.[k] ?? 0)));
  };
  const ask = async () => {
    const pixels = pad.pixels(), asked = session();
    if (!pixels || !asked || asked.curve.length === 0) return show(pixels ? "Nothing is trained yet." : HINT);
    const probabilities = await asked.ask(pixels);
    // Meanwhile another network may have been opened.
    if (asked !== session()) return;
    const best = probabilities.indexOf(Math.max(...probabilities));
    show(`That is a ${best}: ${Math.round(100 * probabilities[best]!)} % sure.`, probabilities);
  };
  const pad = new Pad(byId("pad") as HTMLCanvasElement, () => void ask().catch(complain));
  byId("clear").onclick = () => {
    pad.clear();
    show(HINT);
  };
  show(HINT);
  return () => void ask().catch(complain);
}
