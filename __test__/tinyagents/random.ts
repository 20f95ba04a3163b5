/** `FORKPOINT_TEST_SEED` selects other random choices. A failed test prints its seed. */
export const seed = Number(process.env["FORKPOINT_TEST_SEED"] ?? 1);

/** Makes a function that returns the same numbers from 0 to 1 for the same seed and salt. */
export function randomNumbers(salt: number): () => number {
  let state = (seed * 1_000_003 + salt * 7_919) >>> 0;
  return () => {
    // Mulberry32: close seeds give unrelated numbers.
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
