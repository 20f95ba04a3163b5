/** The slots of pending writes that are not updates. */

/** The slot of the answer to an interrupt. */
export const RESUME = -1 as const;
/** The slot of a task's error. */
export const ERROR = -2 as const;
/** The slot of a task's interrupt. */
export const INTERRUPT = -3 as const;
