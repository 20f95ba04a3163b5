// How the Markdown of the repository becomes a page. The guides are written for GitHub, so nothing in them is for Vue.

/** The anchor of a heading, as GitHub makes it and as scripts/links.mjs checks it. */
export const slugify = (text) =>
  text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(/\s/g, "-");

/** The HTML that TypeDoc writes: anchors of table rows, and line breaks. All other HTML is shown as text. */
const HTML = /^(?:<a id="[\w-]+"><\/a>|<br ?\/?>)/;

function allowAnchors(md) {
  md.inline.ruler.before("html_inline", "anchor", (state, silent) => {
    const found = HTML.exec(state.src.slice(state.pos, state.pos + 200))?.[0];
    if (found === undefined) return false;
    if (!silent) state.push("html_inline", "", 0).content = found;
    state.pos += found.length;
    return true;
  });
}

/** Vue would run what is in double braces. In blocks of code, VitePress prevents it. */
function escapeBraces(md) {
  const { rules } = md.renderer;
  for (const name of ["text", "code_inline"]) {
    const render = rules[name];
    rules[name] = (...given) => render(...given).replaceAll("{{", "&#123;&#123;");
  }
}

/** The studio, in the landing page. */
function showStudio(md) {
  const { fence } = md.renderer.rules;
  md.renderer.rules.fence = (tokens, index, ...more) =>
    tokens[index].info === "live-studio" ? "<LiveStudio />" : fence(tokens, index, ...more);
}

export const markdown = {
  html: false,
  // With these, comments can be read too.
  theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
  anchor: { slugify },
  // `{ lease: true }` at the end of a line is text.
  attrs: { disable: true },
  config(md) {
    // ":name:" is text, and so is a word with a point in it, such as a file's name.
    md.disable("emoji");
    md.linkify.set({ fuzzyLink: false, fuzzyEmail: false });
    for (const change of [allowAnchors, escapeBraces, showStudio]) change(md);
  },
};

/** Renders a page for the index of the search, without colours. The index of the API has its names and its words, and no code. */
export function renderForSearch(text, env, md) {
  const { highlight } = md.options;
  md.options.highlight = null;
  try {
    return md.render(env.relativePath.startsWith("api/") ? text.replaceAll(/^ *```[^]*?^ *```$/gm, "") : text, env);
  } finally {
    md.options.highlight = highlight;
  }
}
