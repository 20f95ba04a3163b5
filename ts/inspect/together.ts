/** Reads several runs at the same time, but not so many that their states fill the memory. */

const AT_ONCE = 16;

/** Calls `work` for each item, and returns the results in the order of the items. Throws between calls if the signal aborts. */
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
