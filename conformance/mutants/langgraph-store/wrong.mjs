// What several mutants use.

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Returns a store with other methods in the place of some. */
export const changed = (store, methods) =>
  new Proxy(store, { get: (_, name) => (Object.hasOwn(methods, name) ? methods[name] : store[name]) });

/** Returns the values of JSON, as stores have them that write JSON. */
export const json = (value) => JSON.parse(JSON.stringify(value));
