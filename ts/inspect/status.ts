/** Reads the reasons for the status of runs. */

import { ForkpointError } from "../bridge/errors.js";
import { pluginOf } from "../contracts/index.js";
import type { RunStop } from "../store/results.js";
import type { StoredStatus } from "../plugin/views.js";
import type { Row } from "../plugin/wire.js";
import { type Context, spaceOf } from "./context.js";

/** Returns the reason for a run's status, in a few words. `row` is its newest checkpoint. Null: there is none. */
export async function readWhy(
  context: Context,
  row: Row,
  status: StoredStatus,
  stop: RunStop | null,
): Promise<string | null> {
  if (status === "finished") return null;
  if (stop !== null && (stop.by !== null || stop.reason !== null)) return whyStopped(stop);
  try {
    return (await pluginOf(spaceOf(row.space)).why?.(context, row, status)) ?? null;
  } catch (error) {
    // If the checkpoint is damaged or its serializer is missing, the reason is unknown. Other errors are the store's.
    if (error instanceof ForkpointError && !["CORRUPT", "UNSUPPORTED"].includes(error.code)) throw error;
    return "the newest checkpoint cannot be read";
  }
}

function whyStopped({ by, reason }: RunStop): string {
  return [by === null ? null : `by ${by}`, reason].filter((part) => part !== null).join(": ");
}
