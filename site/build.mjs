// Builds the site into dist: `node build.mjs`. The package must be built.
import { rmSync } from "node:fs";
import { build } from "vitepress";
import { writeApi } from "./api.mjs";
import { brokenLinks } from "./links.mjs";
import { writeForAgents } from "./llms.mjs";
import { writePages } from "./pages.mjs";
import { out, pages, site } from "./places.mjs";
import { writePolicies } from "./policy.mjs";
import { writeStudio } from "./studio.mjs";

for (const folder of [pages, out]) rmSync(folder, { recursive: true, force: true });
writePages();
await Promise.all([writeStudio(), writeApi()]);
await build(site);
writePolicies(out);
writeForAgents(out);
const broken = brokenLinks(out);
if (broken.length > 0) {
  console.error(`${broken.length} broken links:\n${broken.join("\n")}`);
  process.exit(1);
}
