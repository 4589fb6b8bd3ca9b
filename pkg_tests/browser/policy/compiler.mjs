// Compiles what the page may not, under the policy that this file itself is served with.
onmessage = async ({ data: address }) => { postMessage(await WebAssembly.compileStreaming(fetch(address))); };
