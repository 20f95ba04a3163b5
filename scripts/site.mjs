// Builds the site into site/dist, with everything that it needs: `npm run site`.
import { run, setup, siteFolder } from "./setup.mjs";

setup({ frameworks: ["studio", "site"] });
run(process.execPath, [`${siteFolder}build.mjs`]);
