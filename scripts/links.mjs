// The links of Markdown files: finds them, and makes links absolute whose targets are not in a package.
import { posix } from "node:path";

/** Matches the target of a link in Markdown. */
const LINK = /(?<=\]\()([^()\s]+)(?=\))/g;

/** Matches code, which contains no links. */
const CODE = /^( *)```[^]*?^\1```|`[^`\n]+`/gm;

/** True if the target is relative to the file. */
const isRelative = (target) => !/^[a-z][a-z\d+.-]*:/i.test(target);

/** Returns the text with each link's target replaced by the result of `replace`. */
function replaceLinks(text, replace) {
  let out = "";
  let at = 0;
  for (const code of [...text.matchAll(CODE), { index: text.length, 0: "" }]) {
    out += text.slice(at, code.index).replaceAll(LINK, replace) + code[0];
    at = code.index + code[0].length;
  }
  return out;
}

/** Returns the relative links of a Markdown file: the path of the target in the repository, and its anchor or "". */
export function relativeLinks(text, file) {
  const found = [];
  replaceLinks(text, (target) => {
    if (isRelative(target)) found.push({ target, ...resolved(target, file) });
    return target;
  });
  return found;
}

/** True for a picture. A page needs its bytes, and not GitHub's page about it. */
const isPicture = (path) => /\.(?:webp|png|svg)$/.test(path);

/** Returns the address of a release's files in the repository. */
export const pagesOf = ({ repository, version }) =>
  `${repository.url.replace(/^git\+/, "").replace(/\.git$/, "")}/blob/v${version}`;

/** Returns the text with absolute links to the targets for which `isInside` returns false. `base` is the repository. */
export function withAbsoluteLinks(text, file, isInside, base) {
  return replaceLinks(text, (target) => {
    const { path, anchor } = resolved(target, file);
    if (!isRelative(target) || isInside(path)) return target;
    return `${isPicture(path) ? base.replace("/blob/", "/raw/") : base}/${path}${anchor}`;
  });
}

function resolved(target, file) {
  const [, path, anchor] = /^([^#]*)(#.*)?$/.exec(target);
  return { path: path === "" ? file : posix.join(posix.dirname(file), path), anchor: anchor ?? "" };
}

/** Returns the anchors of a Markdown file's headings, as GitHub makes them. */
export function anchorsOf(text) {
  const anchors = new Set();
  const withoutBlocks = text.replaceAll(/^( *)```[^]*?^\1```/gm, "");
  for (const [, heading] of withoutBlocks.matchAll(/^#+ +(.*?)\s*$/gm)) {
    const words = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase();
    const slug = words.replaceAll(/[^\p{L}\p{N}\s_-]/gu, "").replaceAll(/\s/g, "-");
    let anchor = slug;
    for (let n = 1; anchors.has(`#${anchor}`); n++) anchor = `${slug}-${n}`;
    anchors.add(`#${anchor}`);
  }
  return anchors;
}
