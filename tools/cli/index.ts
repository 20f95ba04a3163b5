/** The entry of the command line: `npx forkpoint`. */

import { main } from "./main.js";

void main(process.argv.slice(2));
