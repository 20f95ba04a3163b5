/** The maximum number of results that are fetched ahead of the reader. */
const MOST = 32;

/** The maximum size of the results that are fetched ahead, estimated from the size of the last result. */
const MOST_BYTES = 4 * 1024 * 1024;

/**
 * Yields results in order, and fetches the next ones while the reader works. `fetch` resolves to undefined after the
 * last result.
 *
 * The number of results ahead grows with the number of used results: none, one, two, up to 32. A reader that stops
 * early has therefore fetched few in vain, and a distant server answers many in one round trip. Nothing is fetched
 * ahead while `needsMore` returns false.
 */
export async function* readAhead<T>(
  fetch: () => Promise<T | undefined>,
  bytesOf: (result: T) => number,
  needsMore: () => boolean = () => true,
): AsyncGenerator<T> {
  const upcoming: Array<Promise<T | undefined>> = [];
  const more = () => {
    const next = fetch();
    // This handler prevents an unhandled rejection if the reader has stopped.
    next.catch(() => {});
    upcoming.push(next);
  };
  for (let used = 0; ; used++) {
    if (upcoming.length === 0) more();
    const result = await upcoming.shift();
    if (result === undefined) return;
    const fitting = Math.max(1, Math.floor(MOST_BYTES / Math.max(1, bytesOf(result))));
    const most = Math.min(used, MOST, fitting);
    // Calls that are sent together share a round trip, so fetch again only when half of the results are used.
    if (upcoming.length <= most / 2 && needsMore()) while (upcoming.length < most) more();
    yield result;
  }
}
