// Where things are: in this repository, and on the web.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("..", import.meta.url));
export const site = fileURLToPath(new URL(".", import.meta.url));

/** The folder of the generated Markdown files. It has the layout of the repository, so links between them stay as they are. */
export const pages = `${site}.pages/`;
/** What is copied to the site as it is. */
export const files = `${pages}public/`;
/** The built site. */
export const out = `${site}dist/`;

/** The path of the site on its server. */
export const base = "/forkpoint/";
export const address = `https://forkpoint.github.io${base}`;
export const repository = "https://github.com/forkpoint/forkpoint";

export const manifest = JSON.parse(readFileSync(`${root}package.json`, "utf8"));
