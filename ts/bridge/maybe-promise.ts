/**
 * Values that are there at once, or later. A framework's serializer may be asynchronous, but most values need no wait. A promise costs
 * more than the serialization of a small value, because a framework may have Node follow every promise.
 */

/** A value, or a promise of it. */
export type MaybePromise<T> = T | Promise<T>;

/** Calls `next` with the value, at once if it is there. */
export function when<T, R>(value: MaybePromise<T>, next: (value: T) => R): MaybePromise<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** All values, at once if all are there. */
export function all<T>(values: ReadonlyArray<MaybePromise<T>>): MaybePromise<T[]> {
  return values.some((value) => value instanceof Promise) ? Promise.all(values) : (values as T[]);
}

export function both<A, B>(one: MaybePromise<A>, other: MaybePromise<B>): MaybePromise<[A, B]> {
  return one instanceof Promise || other instanceof Promise ? Promise.all([one, other]) : [one, other];
}
