const worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });

window.result = new Promise((resolve, reject) => {
  worker.onmessage = ({ data: { value, error } }) => (error ? reject(new Error(error)) : resolve(value));
  worker.onerror = ({ message }) => reject(new Error(message || "the worker could not be loaded"));
});
