/** The form: what is trained, where, and the buttons. */
import { byId } from "../shell/notices.js";
import type { Choice } from "./protocol.js";

export interface Wishes {
  readonly network: "perceptron" | "convolutional";
  readonly backend: Choice;
  readonly seed: number;
}

/** What the page is doing: at the beginning of a training, in it, halfway, at its end, or nothing that a visitor may interrupt. */
export type State = "fresh" | "training" | "stopped" | "done" | "busy";

type Fields = HTMLFormControlsCollection & Record<keyof Wishes, HTMLInputElement | HTMLSelectElement>;

export class Controls {
  readonly #form = byId("controls") as HTMLFormElement;
  readonly #fields = this.#form.elements as Fields;
  readonly #train = byId("train") as HTMLButtonElement;
  readonly #stop = byId("stop") as HTMLButtonElement;
  readonly #reset = byId("reset") as HTMLButtonElement;

  constructor(readonly on: { train: () => void; stop: () => void; reset: () => void; changed: () => void }) {
    // `?network=convolutional&backend=cpu&seed=3` says what is chosen in the beginning.
    for (const [name, value] of new URLSearchParams(location.search)) {
      const field = this.#fields[name as keyof Wishes] as HTMLInputElement | HTMLSelectElement | undefined;
      const isChoice = !(field instanceof HTMLSelectElement) || [...field.options].some((option) => option.value === value);
      if (field && isChoice) field.value = value;
    }
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      on.train();
    });
    this.#form.addEventListener("change", () => { if (this.#form.checkValidity()) on.changed(); });
    this.#stop.onclick = on.stop;
    this.#reset.onclick = on.reset;
  }

  get wishes(): Wishes {
    const { network, backend, seed } = this.#fields;
    return { network: network.value as Wishes["network"], backend: backend.value as Choice, seed: Number(seed.value) };
  }

  /** There is no WebGPU: the CPU is all that can be chosen. */
  withoutWebGpu(): void {
    const field = this.#fields.backend as HTMLSelectElement;
    field.value = "cpu";
    for (const option of field.options) option.disabled = option.value !== "cpu";
  }

  state(state: State): void {
    this.#train.textContent = state === "stopped" ? "Go on" : state === "done" ? "Again" : "Train";
    this.#train.disabled = state === "training" || state === "busy";
    this.#stop.disabled = state !== "training";
    this.#reset.disabled = state === "fresh" || state === "training" || state === "busy";
    for (const field of Object.values<HTMLInputElement | HTMLSelectElement>({ network: this.#fields.network, backend: this.#fields.backend, seed: this.#fields.seed })) {
      field.disabled = state === "training" || state === "busy";
    }
  }
}
