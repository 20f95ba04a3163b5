import { userInfo } from "node:os";

/** Returns the name of the user of this process. Undefined: the system has no entry for this user. */
export function userName(): string | undefined {
  try {
    return userInfo().username || undefined;
  } catch {
    return undefined;
  }
}
