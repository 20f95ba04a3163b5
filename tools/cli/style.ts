/** Colors, and the signs and words of a status. */

import { styleText } from "node:util";
import type { ProgramVersion } from "../../ts/store/compare-programs.js";
import type { Status } from "../../ts/plugin/views.js";

export type Format = "bold" | "dim" | "red" | "green" | "yellow" | "blue" | "magenta" | "cyan";

/** Returns a formatted text, or the text alone if colors are off. */
export type Style = (format: Format | undefined, text: string) => string;

export type ColorMode = "auto" | "always" | "never";

export const plain: Style = (_, text) => text;

const colored: Style = (format, text) =>
  // The caller has already decided on colors, so `styleText` must not check the stream.
  format === undefined || text === "" ? text : styleText(format, text, { validateStream: false });

export function styleFor(stream: { isTTY?: boolean }, mode: ColorMode): Style {
  return hasColor(stream, mode) ? colored : plain;
}

function hasColor(stream: { isTTY?: boolean }, mode: ColorMode): boolean {
  if (mode !== "auto") return mode === "always";
  const { NO_COLOR, FORCE_COLOR, TERM } = process.env;
  if (NO_COLOR !== undefined && NO_COLOR !== "") return false;
  if (FORCE_COLOR !== undefined) return !["0", "false"].includes(FORCE_COLOR);
  return stream.isTTY === true && TERM !== "dumb";
}

const statuses: Record<Status, { sign: string; format: Format }> = {
  waiting: { sign: "!", format: "yellow" },
  failed: { sign: "✗", format: "red" },
  unfinished: { sign: "~", format: "cyan" },
  stopped: { sign: "■", format: "magenta" },
  finished: { sign: "✓", format: "green" },
  unknown: { sign: "·", format: "dim" },
};

export const statusNames = Object.keys(statuses) as Status[];

/** Returns the sign and the word of a status, and their format. */
export function statusCell(status: Status): { text: string; format: Format } {
  const { sign, format } = statuses[status];
  return { text: `${sign} ${status}`, format };
}

/** Returns the name of a program's version or, without a name, the beginning of its hash. */
export function versionName(version: ProgramVersion | null): string {
  return version === null ? "" : (version.version ?? version.shape.slice(0, 7));
}
