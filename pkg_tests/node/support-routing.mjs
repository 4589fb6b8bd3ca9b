// What the tests of routing share with the process that one of them starts.

/** Counts how often an engine measures. */
export function countMeasurements({ native }) {
  let count = 0;
  const measure = native.tensorMeasure.bind(native);
  native.tensorMeasure = () => {
    count++;
    return measure();
  };
  return () => count;
}

/** A graph of several kernels: its values, and where each ran and why. */
export async function routed(lw) {
  const read = lw.scope(() => {
    const x = lw.arange(600).mul(0.01).reshape(20, 30);
    return { values: x.sin().matmul(x.T).softmax().sum(1).read() };
  });
  return { values: [...await read.values], trace: lw.tensorTrace().map(({ what, place, reason }) => ({ what, place, reason })) };
}
