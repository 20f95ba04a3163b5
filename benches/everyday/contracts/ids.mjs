// Ids that look random, and are the same in each process.
import { createHash } from "node:crypto";

/** 32 hexadecimal digits. */
export const digitsOf = (text) => createHash("md5").update(text).digest("hex");
