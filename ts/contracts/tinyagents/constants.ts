/** The slot of the answer to an interrupt. */
export const RESUME = -1;
/** The slot of a task's error. */
export const ERROR = -2;
/** The slot of a task's interrupt. */
export const INTERRUPT = -3;
