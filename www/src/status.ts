/** The line at the bottom of a page: its state, and what went wrong. */

export const byId = (id: string): HTMLElement => {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no element "${id}"`);
  return found;
};

/** Empty, the line is gone. */
export function say(message: string): void {
  const status = byId("status");
  if (status.classList.contains("error")) return;      // the first error stays: what follows mostly follows from it
  status.textContent = message;
}

/** The same for what the visitor has to know. */
export function complain(thrown: unknown): void {
  console.error(thrown);
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  say(`Sorry, this went wrong: ${message} — reloading the page may help.`);
  const status = byId("status");
  status.classList.add("error");
  status.setAttribute("role", "alert");
}

/** From here on nothing fails unnoticed. */
export function watchErrors(): void {
  addEventListener("unhandledrejection", (event) => complain(event.reason));
  addEventListener("error", (event) => complain(event.error ?? event.message));
}

/** Adds a row to a list of facts; the function it gives writes its value, and a note below it. */
export function fact(list: HTMLElement, name: string): (value: string, note?: string) => void {
  const term = Object.assign(document.createElement("dt"), { textContent: name });
  const detail = document.createElement("dd");
  list.append(term, detail);
  return (value, note = "") => detail.replaceChildren(value, ...(note ? [Object.assign(document.createElement("small"), { textContent: note })] : []));
}
