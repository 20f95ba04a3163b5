/** Reads a checkpoint with its values. */

import { detachBuffers } from "../bridge/detach.js";
import { shownForm } from "../bridge/json-form/to-json-form.js";
import { pluginOf } from "../contracts/index.js";
import { Parts, type Values, readFound, readNamed } from "../plugin/values.js";
import type { CheckpointDetail, CheckpointInfo, WriteInfo } from "../plugin/views.js";
import type { FoundCheckpoint, Row } from "../plugin/wire.js";
import { type Context, spaceOf } from "./context.js";

/** Reads a checkpoint. Null: it no longer exists. */
export async function readDetail(
  context: Context,
  row: Row,
  checkpoint: CheckpointInfo,
): Promise<CheckpointDetail | null> {
  const found = await readFound(context, row);
  if (found === null) return null;
  const { state, rest, parts } = readValues(context, row, found);
  const detail = {
    checkpoint,
    state: shownForm(state),
    rest: rest === null ? null : shownForm(rest),
    writes: await readWrites(context, row, found),
    next: (await pluginOf(row.space).next?.(context, row)) ?? null,
    parts,
  };
  // The forms share no memory with the response's buffers.
  detachBuffers(...found.parts, ...found.writes.map(({ part }) => part), ...(found.records ?? []));
  return detail;
}

export function readValues(context: Pick<Context, "formats">, row: Row, found: FoundCheckpoint): Values {
  const parts = new Parts(context);
  const [state, rest] = (pluginOf(spaceOf(row.space)).values ?? readNamed)(parts, row, found);
  return { state, rest, parts: parts.infos };
}

export async function readWrites(context: Context, row: Row, found: FoundCheckpoint): Promise<WriteInfo[]> {
  return (await pluginOf(row.space).writes?.(context, row, found)) ?? [];
}
