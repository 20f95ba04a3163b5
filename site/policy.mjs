// Gives each page a policy: nothing from another origin, and only the scripts that the page was built with.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { htmlIn } from "./links.mjs";

const INLINE = /<script(?![^>]*\bsrc=)(?![^>]*\btype="application\/)[^>]*>([^]*?)<\/script>/g;

/** Returns the policy of a page. VitePress and its highlighter write styles into attributes. */
function policyOf(html) {
  const hashes = Array.from(html.matchAll(INLINE), ([, text]) => {
    const hash = createHash("sha256").update(text, "utf8").digest("base64");
    return `'sha256-${hash}'`;
  });
  return [
    "default-src 'none'",
    `script-src 'self' ${[...new Set(hashes)].join(" ")}`.trim(),
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "frame-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
}

/** Writes the policy into the built pages. The page of the studio has its own. */
export function writePolicies(folder) {
  for (const path of htmlIn(folder)) {
    const html = readFileSync(folder + path, "utf8");
    if (html.includes("Content-Security-Policy")) continue;
    const meta = `<meta http-equiv="Content-Security-Policy" content="${policyOf(html)}">`;
    writeFileSync(
      folder + path,
      html.replace(/<meta charset="utf-8">/i, (charset) => `${charset}\n    ${meta}`),
    );
  }
}
