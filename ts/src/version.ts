/** The package's version, which what is kept between runs names. @internal */
export const VERSION = "0.1.0";
