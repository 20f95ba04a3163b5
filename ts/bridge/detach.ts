/** Frees buffers after their last use. */

import { Pieces } from "./bytes.js";
import { detach } from "./native.js";
import type { Serialized } from "./serializer.js";

/** Frees the buffers of parts after they were stored or decoded. */
export function detachBuffers(...parts: Serialized[]): void {
  // Free a buffer only if these parts cover all of it. Other values may use the rest.
  let shared: Map<ArrayBufferLike, number> | undefined;
  for (const { bytes } of parts) {
    // Do not free pieces, because later saves use them again.
    if (bytes instanceof Pieces) continue;
    const { buffer, byteLength } = bytes;
    if (byteLength === buffer.byteLength) detach(buffer);
    else (shared ??= new Map()).set(buffer, (shared.get(buffer) ?? 0) + byteLength);
  }
  if (shared !== undefined) {
    for (const [buffer, length] of shared) if (length === buffer.byteLength) detach(buffer);
  }
}
