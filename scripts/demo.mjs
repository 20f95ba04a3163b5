// The demo: `npm run demo`. What it shows is in integration/agentos/demo/.
import { root, run, setup } from "./setup.mjs";

setup();
run(process.execPath, [`${root}integration/agentos/demo/main.mjs`]);
