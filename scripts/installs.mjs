// Installs the locked packages of the given folders, all at the same time, because most of it is waiting.
import { spawn } from "node:child_process";
import { locked } from "./setup.mjs";

const statuses = await Promise.all(
  process.argv.slice(2).map((folder) => {
    const { command, args, shell } = locked;
    const child = spawn(command, args, { cwd: folder, stdio: "inherit", shell });
    return new Promise((resolve) => {
      child.once("error", ({ message }) => {
        console.error(`${folder}: ${message}`);
        resolve(1);
      });
      child.once("close", (status) => resolve(status ?? 1));
    });
  }),
);
process.exit(Math.max(...statuses));
