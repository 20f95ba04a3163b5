// Builds the site into site/dist: `npm run site`. Installs and builds all that it needs.
import { run, setup, siteFolder } from "./setup.mjs";

setup({ frameworks: ["studio", "site"] });
run(process.execPath, [`${siteFolder}build.mjs`]);
