/** What tensors are known by to the functions that tensors are made of, which can't import their class: it imports them. */

/** Base of {@link Tensor}. */
export abstract class TensorHandle {}
