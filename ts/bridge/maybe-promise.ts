/**
 * Values that may be promises. A framework's serializer may be asynchronous, but most values are available immediately.
 * A promise costs more than the serialization of a small value, because a framework may have Node track every promise.
 */

/** A value, or a promise of it. */
export type MaybePromise<T> = T | Promise<T>;

/** Calls `next` with the value, immediately unless it is a promise. */
export function when<T, R>(value: MaybePromise<T>, next: (value: T) => R): MaybePromise<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** Returns all values, immediately unless one is a promise. */
export function all<T>(values: ReadonlyArray<MaybePromise<T>>): MaybePromise<T[]> {
  return values.some((value) => value instanceof Promise) ? Promise.all(values) : (values as T[]);
}

export function both<A, B>(one: MaybePromise<A>, other: MaybePromise<B>): MaybePromise<[A, B]> {
  return one instanceof Promise || other instanceof Promise ? Promise.all([one, other]) : [one, other];
}
