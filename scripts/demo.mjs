// Runs the demo in integration/agentos/demo/: `npm run demo`.
import { root, run, setup } from "./setup.mjs";

setup({ frameworks: ["agentos"] });
run(process.execPath, [`${root}integration/agentos/demo/main.mjs`]);
