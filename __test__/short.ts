// The short forms of long tests, which CI runs.

/** True in CI, unless FORKPOINT_TEST_SHORT is 0. */
export const isShort = process.env["CI"] !== undefined && process.env["FORKPOINT_TEST_SHORT"] !== "0";

/** Another number each day. FORKPOINT_TEST_SEED is that of another day. */
const seed = Number(process.env["FORKPOINT_TEST_SEED"] ?? Math.floor(Date.now() / 86_400_000));

/** Returns one of `of` parts of a list, another one each day. Without a short form, returns all of it. */
export const inTurn = <T>(all: readonly T[], of: number): readonly T[] =>
  isShort ? all.filter((_, at) => (at + seed) % of === 0) : all;
