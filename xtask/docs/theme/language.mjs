// Questions to the language service, whose worker is started when something is asked for the first time.
import { ref } from "vue";

export class Language {
  /** "" before it is loaded, then "loading", "ready" or an error. */
  state = ref("");
  #address;
  #worker;
  #loaded;
  #asked = new Map();
  #next = 0;

  constructor(address) { this.#address = address; }

  get isReady() { return this.state.value === "ready"; }

  /** Loads the service; resolves when it answers. */
  load() { return (this.#loaded ??= this.#load()); }

  async #load() {
    this.state.value = "loading";
    this.#worker = new Worker(this.#address, { type: "module" });
    this.#worker.onmessage = ({ data: { id, answer, error } }) => {
      const { resolve, reject } = this.#asked.get(id);
      this.#asked.delete(id);
      if (error === undefined) resolve(answer);
      else reject(new Error(error));
    };
    this.#worker.onerror = ({ message }) => this.#end(message || "the worker could not be started");
    try {
      await this.ask("errors", "");
      this.state.value = "ready";
    } catch (error) {
      this.#end(error.message);
    }
  }

  /** The answer to a question of play/language.mjs. */
  ask(question, ...given) {
    if (!this.#worker) return Promise.reject(new Error("the language service is not loaded"));
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#asked.set(id, { resolve, reject });
      this.#worker.postMessage({ id, question, given });
    });
  }

  #end(message) {
    this.state.value = message;
    for (const { reject } of this.#asked.values()) reject(new Error(message));
    this.#asked.clear();
  }

  dispose() {
    this.#worker?.terminate();
    this.#end("");
  }
}
