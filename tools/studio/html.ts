/** Makes an HTML file that shows a run without a server: the page with its data. */

import { createHash } from "node:crypto";
import { safeText } from "../../ts/bridge/json-form/json-text.js";
import { files } from "./files.js";

/** Returns the body of a file of the page, by a prefix of its name. */
function fileOf(name: string): string {
  const path = Object.keys(files).find((each) => each === name || each.startsWith(`/assets/${name}-`));
  return files[path!]!.body;
}

/** Returns the policy source for a script or style: the hash of the text between its tags. */
const sourceOf = (text: string): string => `'sha256-${createHash("sha256").update(text, "utf8").digest("base64")}'`;

/** Escapes the end of a script element in a script. In every JavaScript string, the escapes have the same meaning. */
const asScript = (text: string): string => text.replace(/<(?=\/script|!--)/gi, "\\x3C");

/** Writes JSON without characters that could end its element. They occur only in its texts. */
const asData = (json: string): string =>
  json.replace(/[<\u2028\u2029]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);

const asText = (text: string): string =>
  safeText(text).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

/**
 * Returns the text of the file, in pieces. `data` is the JSON text that the page reads.
 *
 * The policy allows the file's scripts and style by their hashes, and nothing else: no request, no frame, no form.
 */
export function htmlOf(data: Iterable<string>, title: string): string[] {
  const [source, page, style] = [asScript(fileOf("embedded")), asScript(fileOf("whole")), fileOf("style")];
  if (/<\/style/i.test(style)) throw new Error("the style of the page would end its element");
  const icon = `data:image/svg+xml,${encodeURIComponent(fileOf("icon"))}`;
  const policy = [
    "default-src 'none'",
    `script-src ${sourceOf(source)} ${sourceOf(page)}`,
    `style-src ${sourceOf(style)}`,
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
  ];
  return [
    `<!doctype html>
<html lang="en" data-access="file">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy.join("; ")}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${asText(title.slice(0, 200))} · Forkpoint Studio</title>
<link rel="icon" href="${icon}">
<style>${style}</style>
</head>
<body>
<noscript>This file needs JavaScript.</noscript>
<div id="app" class="stack"></div>
<script type="application/json" id="taken">`,
    ...Array.from(data, asData),
    `</script>
<script>${source}</script>
<script type="module">${page}</script>
</body>
</html>
`,
  ];
}
