/**
 * `leastwise/vectors`: vectors from files, by rows, so that files may be larger than memory; arrays into files; and exact search, to
 * compare with. What takes an engine says so; all else works without one, in browsers and in Node.
 * @packageDocumentation
 */
export { fromHalf, half, Half, toHalf } from "./vectors/half.js";
export { encodeNpy, npyHeader } from "./vectors/npy.js";
export type { NpyArray } from "./vectors/npy.js";
export { formatOf, openVectors } from "./vectors/open.js";
export type { OpenOptions, Vectors, VectorStream } from "./vectors/open.js";
export { clusterBatches } from "./vectors/batches.js";
export type { Batch, BatchClustering, BatchOptions } from "./vectors/batches.js";
export { openLazily } from "./vectors/lazy.js";
export type { LazyIndex, LazyOptions, LazyReads, PositionedFile } from "./vectors/lazy.js";
export { mergeIndices, openWithChanges, trackChanges } from "./vectors/changes.js";
export type { ChangeLog, MergeOptions } from "./vectors/changes.js";
export { indexBits, openBits } from "./vectors/bits.js";
export type { BitHits, BitIndex, BitOptions, BitRangeHits, BitRangeOptions, BitSearched, BitSearchOptions } from "./vectors/bits.js";
export { remoteFile } from "./vectors/remote.js";
export type { RemoteFile, RemoteOptions, RemoteResponse } from "./vectors/remote.js";
export { exactSearch, predict } from "./vectors/exact.js";
export type { ExactHits, ExactOptions, Prediction, PredictOptions } from "./vectors/exact.js";
export type { ElementType, Elements } from "./vectors/element.js";
export type { Hdf5Dataset } from "./vectors/hdf5.js";
export type { VectorFormat } from "./vectors/layout.js";
export type { RandomAccess, Source } from "./vectors/source.js";
