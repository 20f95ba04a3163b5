/** The entry `forkpoint/inspect`: opens inspectors. */

import "../bridge/bundled.js";
import type { InspectorOptions, openInspector as openInspectorContract } from "../../inspect.js";
import type { Serializer } from "../../index.js";
import { ForkpointError, isArray, isOwnError, typeError } from "../bridge/errors.js";
import type { Context } from "./context.js";
import { Inspector } from "./inspector.js";
import type { NativeStore } from "../bridge/native.js";
import { flag, readRecord, whole } from "../store/options.js";
import { type Format, formatOf } from "../bridge/serializer.js";
import { Store, engineOf, openInBackground } from "../store/store.js";
import type { Store as StoreContract } from "../../index.js";

export { fromJsonForm, toJsonForm } from "../bridge/json-form/to-json-form.js";
export { parseJson, safeJson, safeText } from "../bridge/json-form/json-text.js";
export { compress, decompress } from "./zstd.js";
export { formatPath, parsePath, valueAt } from "../bridge/json-form/path.js";

const inspectorOptions = {
  serializers: (value: unknown, name: string) => {
    if (!isArray(value)) throw typeError(`${name} must be a list of serializers`);
    return value.map((serializer) => formatOf(serializer as Serializer));
  },
  busyTimeout: whole(0, 2 ** 31 - 1, "milliseconds"),
  write: flag,
};

export const openInspector: typeof openInspectorContract = async (target, options) => {
  const read = readRecord(options, "options", inspectorOptions) as Omit<InspectorOptions, "serializers"> & {
    serializers?: Format[];
  };
  const { serializers = [], busyTimeout, write = false } = read;
  const isOpen = target instanceof (Store as unknown as new () => StoreContract);
  const store = isOpen ? (target as unknown as Store) : opened(target as string | URL, { busyTimeout, write });
  try {
    const engine = engineOf(store);
    await engine.ready;
    const formats = new Map([engine.format, ...serializers].map((format) => [format.name, format]));
    const shown = targetOf(engine.native, target);
    const context: Context = { store: store as unknown as StoreContract, engine, formats, target: shown, write };
    return new Inspector(context, isOpen ? undefined : (store as unknown as StoreContract));
  } catch (error) {
    if (!isOpen) await store.close();
    if (isOwnError(error)) Error.captureStackTrace(error, openInspector);
    throw error;
  }
};

/** Returns what a user gives to open the store, without a password. */
function targetOf({ backend, databasePath }: NativeStore, given: unknown): string {
  if (databasePath === null) return "memory:";
  if (backend === "jsonl") return `jsonl:${databasePath}`;
  if (backend !== "postgres" || typeof given !== "string" || !URL.canParse(given)) return databasePath;
  const url = new URL(given);
  url.password = "";
  url.searchParams.delete("password");
  return url.href;
}

/** Opens a store. A store that is only looked at must exist. */
function opened(
  target: string | URL,
  { busyTimeout, write }: { busyTimeout: number | undefined; write: boolean },
): Store {
  const busyTimeoutMs = busyTimeout === undefined ? {} : { busyTimeoutMs: busyTimeout };
  try {
    return openInBackground(target, { ...busyTimeoutMs, readOnly: !write });
  } catch (error) {
    // The folder of the file does not exist.
    if (!write && error instanceof ForkpointError && error.code === "UNAVAILABLE") {
      throw new ForkpointError("NOT_FOUND", error.message, { cause: error.cause });
    }
    throw error;
  }
}
