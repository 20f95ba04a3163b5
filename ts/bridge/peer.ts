/** The error for a package that an entry needs and that is not installed. Needs no addon. */

import { ForkpointError } from "./forkpoint-error.js";

/** Makes the error. `more` says what else to do. */
export function missingPeer(entry: string, peer: string, cause: unknown, more = ""): ForkpointError {
  const message = `${entry} needs the package ${peer}, which cannot be loaded: install it with \`npm install ${peer}\`${more}`;
  return new ForkpointError("UNSUPPORTED", message, { cause });
}
