/** Elements in one line, and the controls that every page has. */

type Child = Node | string | undefined | false;
type Props = { readonly [name: string]: unknown };

/** An element: `class`, `aria-…` and `data-…` become attributes, `on…` and everything else properties. */
export function el<K extends keyof HTMLElementTagNameMap>(tag: K, props: Props = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined) continue;
    if (name === "class" || name === "role" || name === "for" || name.includes("-")) element.setAttribute(name, String(value));
    else (element as unknown as Record<string, unknown>)[name] = value;
  }
  element.append(...children.filter((child): child is Node | string => child !== undefined && child !== false));
  return element;
}

export const byId = (id: string): HTMLElement => {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no element "${id}"`);
  return found;
};

let numbers = 0;
/** An id that no other element has. */
export const freshId = (): string => `control-${++numbers}`;

/** Paths of icons on a field of 24 × 24. */
const ICONS = {
  play: "M8 5v14l11-7z", pause: "M7 5h4v14H7zM13 5h4v14h-4z", step: "M6 5v14l8-7zM16 5h3v14h-3z", rewind: "M11 5v14L3 12zM20 5v14l-8-7z",
  reset: "M12 5V1L7 6l5 5V7a5 5 0 1 1-5 5H5a7 7 0 1 0 7-7z", undo: "M9 7V3L3 9l6 6v-4c5 0 8 1.500 10 6 0-6-4-10-10-10z",
  sheet: "M4 6h16v2H4zM4 11h16v2H4zM4 16h16v2H4z", theme: "M12 3a9 9 0 1 0 0 18V3z", link: "M10 13a4 4 0 0 0 6 0l3-3a4 4 0 0 0-6-6l-1 1 1.400 1.400 1-1a2 2 0 0 1 3 3l-3 3a2 2 0 0 1-3 0zM14 11a4 4 0 0 0-6 0l-3 3a4 4 0 0 0 6 6l1-1-1.400-1.400-1 1a2 2 0 0 1-3-3l3-3a2 2 0 0 1 3 0z",
} as const;

export function icon(name: keyof typeof ICONS): SVGElement {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

/** A button with an icon, whose name is spoken and shown as a hint. */
export function iconButton(name: keyof typeof ICONS, label: string, onclick: () => void): HTMLButtonElement {
  return el("button", { type: "button", class: "icon", "aria-label": label, title: label, onclick }, icon(name));
}

export const button = (label: string, onclick: () => void, kind = "quiet"): HTMLButtonElement => el("button", { type: "button", class: kind, onclick }, label);

/** A control that shows a value and tells of changes. */
export interface Control<T> { readonly element: HTMLElement; show(value: T): void }

/** Step of a slider over logarithms. */
const LOG_STEP = 0.02;

/** A slider; `log` has it move in powers of ten. `onchange` comes once at the end, `oninput` on the way. */
export function slider(label: string, { min, max, step = 0.01, log = false, unit = "" }: { min: number; max: number; step?: number; log?: boolean; unit?: string }, oninput: (value: number) => void, onchange: (value: number) => void = () => {}): Control<number> {
  const id = freshId(), to = (value: number) => (log ? Math.log10(value) : value), from = (value: number) => (log ? 10 ** value : value);
  const output = el("output", { for: id });
  // Powers of ten are among the places of a slider over logarithms.
  const end = (value: number, round: (value: number) => number) => (log ? (round(to(value) / LOG_STEP) * LOG_STEP).toFixed(2) : String(value));
  const input = el("input", { type: "range", id, min: end(min, Math.floor), max: end(max, Math.ceil), step: String(log ? LOG_STEP : step) });
  const say = (value: number) => { output.textContent = `${Number(value.toPrecision(3))}${unit}`; };
  const value = () => from(Number(input.value));
  input.oninput = () => { say(value()); oninput(value()); };
  input.onchange = () => onchange(value());
  // The value itself, which may be between two places.
  return { element: el("div", { class: "slider" }, el("label", { for: id }, label), output, input), show: (value) => { input.value = String(to(value)); say(Math.min(max, Math.max(min, value))); } };
}

/** A list to choose from. */
export function choice<T extends string>(label: string, options: readonly (readonly [T, string])[], onchange: (value: T) => void): Control<T> & { readonly select: HTMLSelectElement } {
  const id = freshId();
  const select = el("select", { id, onchange: () => onchange(select.value as T) }, ...options.map(([value, text]) => el("option", { value }, text)));
  return { element: el("div", { class: "field" }, el("label", { for: id }, label), select), select, show: (value) => { select.value = value; } };
}

/** Buttons of which one is pressed. */
export function segments<T extends string>(label: string, options: readonly (readonly [T, string, string?])[], onchange: (value: T) => void): Control<T> {
  const buttons = options.map(([value, text, hint]) => el("button", { type: "button", "aria-pressed": "false", title: hint, value, onclick: () => { show(value); onchange(value); } }, text));
  const show = (value: T) => { for (const one of buttons) one.setAttribute("aria-pressed", String(one.value === value)); };
  return { element: el("div", { class: "segments", role: "group", "aria-label": label }, ...buttons), show };
}

/** A box to tick. */
export function tick(label: string, onchange: (value: boolean) => void): Control<boolean> {
  const input = el("input", { type: "checkbox", onchange: () => onchange(input.checked) });
  return { element: el("label", { class: "tick" }, input, label), show: (value) => { input.checked = value; } };
}

/** A titled part of the panel. */
export const section = (title: string, ...children: Child[]): HTMLElement => el("section", {}, el("h2", {}, title), ...children);

export const note = (text: string): HTMLElement => el("p", { class: "fine" }, text);

/** Calls `work` once, when nothing has asked for it for so long. */
export function settled(ms: number, work: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(work, ms);
  };
}

/** Hands a file to the visitor. */
export function download(name: string, bytes: Uint8Array<ArrayBuffer> | string, type: string): void {
  const address = URL.createObjectURL(new Blob([bytes], { type }));
  el("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
