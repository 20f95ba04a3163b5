// The settings of VitePress. `node build.mjs` writes the pages first.
import { defineConfig } from "vitepress";
import { entries } from "../api.mjs";
import { groups, project, textOf, titleOf } from "../guides.mjs";
import { address, base, manifest, repository } from "../places.mjs";
import { accessible } from "./accessible.mjs";
import { markdown, renderForSearch } from "./markdown.mjs";

const linkOf = (path) => `/${path.replace(/\.md$/, "")}`;

const guides = groups().map(({ title, pages }) => ({
  text: title,
  items: pages.map((path) => ({ text: titleOf(path), link: linkOf(path) })),
}));

const about = { text: "Project", items: project.map((path) => ({ text: titleOf(path), link: linkOf(path) })) };

const [, claim] = /\*\*(.+?)\*\*/.exec(textOf("README.md"));

const api = {
  text: "API",
  link: "/api/",
  items: entries.map(({ path, name }) => ({ text: path, link: `/api/${name}` })),
};

const sidebar = [{ text: "All guides", link: "/docs/" }, ...guides, about];

export default defineConfig({
  lang: "en",
  title: "Forkpoint",
  description: claim,
  base,
  srcDir: ".pages",
  outDir: "dist",
  cacheDir: ".cache/vitepress",
  head: [["link", { rel: "icon", href: `${base}icon.svg`, type: "image/svg+xml" }]],
  sitemap: { hostname: address },
  markdown,
  vite: { plugins: [accessible()] },
  themeConfig: {
    logo: { src: "/icon.svg", alt: "" },
    nav: [
      { text: "Guides", link: "/docs/", activeMatch: "^/docs/" },
      { text: "API", link: "/api/", activeMatch: "^/api/" },
      { text: "Studio", link: "/studio/index.html", target: "_self" },
      { text: `v${manifest.version}`, link: "/CHANGELOG" },
    ],
    sidebar: {
      "/api/": [api],
      "/docs/": sidebar,
      ...Object.fromEntries(project.map((path) => [linkOf(path), sidebar])),
    },
    outline: [2, 3],
    search: { provider: "local", options: { _render: renderForSearch } },
    socialLinks: [{ icon: "github", link: repository, ariaLabel: "GitHub" }],
    editLink: { pattern: `${repository}/blob/main/:path`, text: "The source of this page" },
  },
});
