/** The versions of rows that are changed in place. */

import { crypto } from "../../bridge/crypto.js";

/** Returns a random version. It differs from all earlier ones, and is never 0. */
export const newVersion = (): number => crypto().randomInt(1, 2 ** 47);
