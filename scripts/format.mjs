// Formats Rust, TypeScript and JavaScript: `npm run format`. CI checks the format.
import { root, run, setup, tool } from "./setup.mjs";

setup();
run("cargo", ["fmt"]);
tool("prettier/bin/prettier.cjs", ["--write", "--log-level", "warn", root]);
