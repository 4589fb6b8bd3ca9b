/** The editor of a page's residual: CodeMirror, loaded when it is first looked at. */
import type { CodeError } from "./code.js";
import { button, el, settled } from "./dom.js";

const SETTLED_MS = 350;

export class Editor {
  readonly element: HTMLElement;
  readonly #field = el("div", { class: "code" });
  readonly #message = el("p", { class: "code-message", role: "status" });
  #source = "";
  #view: import("./codemirror.js").CodeView | undefined;
  #loading: Promise<void> | undefined;

  constructor(onChange: (source: string) => void, own: () => string, onCopy: () => void) {
    const change = settled(SETTLED_MS, () => onChange(this.#source));
    this.#changed = (source) => { if (source === this.#source) return; this.#source = source; change(); };
    const back = () => { this.show(own()); onChange(own()); };
    this.element = el("div", { class: "editor" }, el("p", { class: "fine" }, "This code is running. Change it: it is traced anew, and the picture goes on from where it is."),
      this.#field, this.#message, el("div", { class: "buttons" }, button("Copy as project", onCopy), button("Original code", back)));
    this.#field.append(el("pre", { tabIndex: 0 }, ""));
  }

  readonly #changed: (source: string) => void;
  get source(): string { return this.#source; }

  /** Another text. */
  show(source: string): void {
    if (source === this.#source) return;
    this.#source = source;
    if (this.#view) this.#view.show(source);
    else this.#field.firstElementChild!.textContent = source;
    this.error(undefined);
  }

  /** Loads what it takes to edit, if that is not there yet. */
  open(): Promise<void> {
    return (this.#loading ??= import("./codemirror.js").then(({ makeCodeView }) => {
      this.#field.replaceChildren();
      this.#view = makeCodeView(this.#field, this.#source, this.#changed);
    }));
  }

  /** What is wrong with the code, at its line; undefined if nothing is. */
  error(error: CodeError | undefined): void {
    this.#message.textContent = error ? `${error.line ? `Line ${error.line}: ` : ""}${error.message}${error.code ? ` (${error.code})` : ""}` : "";
    this.element.classList.toggle("wrong", error !== undefined);
    this.#view?.mark(error);
  }
}
