/** Light and dark: as the system says, until the visitor chooses. */
import { byId } from "./dom.js";

const KEY = "leastwise/theme";
const dark = matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set<() => void>();

export const isDark = (): boolean => (document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";
export const calm = (): boolean => matchMedia("(prefers-reduced-motion: reduce)").matches;
/** A colour of the style sheet, as `--name` has it now. */
export const colour = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** Calls `work` when colours change. */
export function onTheme(work: () => void): void { listeners.add(work); }

const tell = () => { for (const work of listeners) work(); };

/** Makes the header's button work. */
export function themeButton(): void {
  dark.addEventListener("change", tell);
  // On a narrow screen the list of pages is longer than the header.
  const here = document.querySelector<HTMLElement>(".bar nav [aria-current]"), list = here?.parentElement;
  if (here && list) list.scrollLeft = here.offsetLeft - list.offsetLeft - (list.clientWidth - here.clientWidth) / 2;
  byId("theme").onclick = () => {
    const theme = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    try { localStorage.setItem(KEY, theme); } catch { /* a browser without storage forgets it */ }
    tell();
  };
}
