/** Writes the findings of `doctor` and `verify`. */

import { safeText } from "../../ts/bridge/json-form/json-text.js";
import type { Style } from "./style.js";
import { plural } from "./units.js";
import type { Finding, VerifyReport } from "../../ts/bridge/wire.js";

const signs = {
  error: { sign: "✗", format: "red" },
  warning: { sign: "!", format: "yellow" },
  note: { sign: "·", format: "dim" },
} as const;

const severities = Object.keys(signs) as Array<Finding["severity"]>;

/** Yields the lines of a report: errors first. */
export function* findingLines({ ok, findings }: VerifyReport, style: Style): Generator<string> {
  const sorted = severities.flatMap((severity) => findings.filter((finding) => finding.severity === severity));
  for (const { code, severity, message, remedy } of sorted) {
    const { sign, format } = signs[severity];
    yield `${style(format, `${sign} ${severity} ${safeText(code)}`)}  ${safeText(message)}`;
    if (remedy !== "") yield `  ${style("dim", safeText(remedy))}`;
  }
  const counts = severities
    .map((severity) => [severity, findings.filter((finding) => finding.severity === severity).length] as const)
    .filter(([, count]) => count > 0)
    .map(([severity, count]) => plural(count, severity));
  if (findings.length > 0) yield "";
  if (ok) yield `${style("green", "✓ no errors")}${counts.length === 0 ? "" : `, ${counts.join(", ")}`}`;
  else yield style("red", `✗ ${counts.join(", ")}`);
}
