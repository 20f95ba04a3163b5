/** The error for a missing package that an entry needs. Loads no addon. */

import { ForkpointError } from "./forkpoint-error.js";

/** Makes the error. `more` gives a further remedy. */
export function missingPeer(entry: string, peer: string, cause: unknown, more = ""): ForkpointError {
  const message = `${entry} needs the package ${peer}, which cannot be loaded: install it with \`npm install ${peer}\`${more}`;
  return new ForkpointError("UNSUPPORTED", message, { cause });
}
