/** Says why no worker continues a run. */

import { safeText } from "../../ts/bridge/json-form/json-text.js";
import { versionName } from "./style.js";
import type { Stranded } from "../../ts/plugin/views.js";

/** Returns what differs, on one line. */
export const strandedText = ({ differences }: Stranded): string => safeText(differences.join("; "));

export const strandedNote = (stranded: Stranded): string =>
  `version ${versionName(stranded.to)} of ${safeText(stranded.program)}, which started last, can't continue the run: ` +
  strandedText(stranded);
