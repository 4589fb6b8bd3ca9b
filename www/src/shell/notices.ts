/** The line at the bottom of a page: its state, what went wrong, and what can be done about it. */
import { byId, el } from "./dom.js";
import { LoopGone } from "./gone.js";

export { byId } from "./dom.js";

/** A way on that the visitor may choose. */
export interface Offer { readonly label: string; readonly act: () => void }

/** Empty, the line is gone. An error stays until it is dismissed. */
export function say(message: string, ...offers: Offer[]): void {
  const status = byId("status");
  if (status.classList.contains("error")) return;
  show(status, message, offers);
  clearTimeout(passing);
  // What is being done stays until it is done.
  if (message && !offers.length && !message.includes("…")) passing = setTimeout(() => { if (status.textContent === message) say(""); }, PASSING_MS);
}
const PASSING_MS = 7000;
let passing: ReturnType<typeof setTimeout> | undefined;

function show(status: HTMLElement, message: string, offers: readonly Offer[]): void {
  status.replaceChildren(message, ...offers.map(({ label, act }) => el("button", { type: "button", class: "quiet", onclick: () => { settle(); act(); } }, label)));
}

/** An error that is shown is over: work goes on. */
export function settle(): void {
  const status = byId("status");
  if (!status.classList.contains("error")) return;
  status.classList.remove("error");
  status.setAttribute("role", "status");
  status.replaceChildren();
}

/** An error in words; the page goes on as far as it can. What was asked of a problem that the page has left is none. */
export function complain(thrown: unknown, ...offers: Offer[]): void {
  if (thrown instanceof LoopGone) return;
  console.warn(thrown);
  tell(`Sorry, this went wrong: ${thrown instanceof Error ? thrown.message : String(thrown)}`, ...offers);
}

/** The same for what the visitor did or gave: no bug, but nothing that works. */
export function tell(message: string, ...offers: Offer[]): void {
  const status = byId("status");
  status.classList.add("error");
  status.setAttribute("role", "alert");
  show(status, message, [...offers, { label: "Dismiss", act: () => {} }]);
}

/** From here on nothing fails unnoticed. */
export function watchErrors(): void {
  addEventListener("unhandledrejection", (event) => complain(event.reason));
  // A loop of resizing that the browser put off is not an error.
  addEventListener("error", (event) => { if (!event.message.startsWith("ResizeObserver")) complain(event.error ?? event.message); });
}

/** Adds a row to a list of facts; the function it gives writes its value, and a note below it. */
export function fact(list: HTMLElement, name: string): (value: string, note?: string) => void {
  const detail = el("dd");
  list.append(el("dt", {}, name), detail);
  return (value, note = "") => detail.replaceChildren(value, ...(note ? [el("small", {}, note)] : []));
}
