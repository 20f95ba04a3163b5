/** Reads several runs at the same time, with a limit that keeps their states from filling the memory. */

const AT_ONCE = 16;

/** Calls `work` for each item. Returns the results in the items' order. Throws between calls if the signal aborts. */
export async function mapTogether<T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
  signal?: AbortSignal,
): Promise<R[]> {
  const results: R[] = [];
  for (let from = 0; from < items.length; from += AT_ONCE) {
    signal?.throwIfAborted();
    results.push(...(await Promise.all(items.slice(from, from + AT_ONCE).map(work))));
  }
  return results;
}
