/** A turn of the event loop, in which a page draws and answers, and a worker hears messages; unlike `setTimeout`'s, it comes at once. */
export function turn(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => { port1.close(); resolve(); };
    port2.postMessage(null);
  });
}
