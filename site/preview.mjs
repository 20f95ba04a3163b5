// Serves the built site on this machine, under its path: `node preview.mjs [port]`.
import { createReadStream, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize, sep } from "node:path";
import { pathToFileURL } from "node:url";
import { base, out } from "./places.mjs";

const types = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json; charset=utf-8",
  ".md": "text/markdown; charset=utf-8",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
  ".webp": "image/webp",
  ".xml": "application/xml",
};

const isFile = (path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true;

/** Returns the file that answers a path. It is in the folder of the site. */
function fileOf(path) {
  if (!path.startsWith(base)) return undefined;
  const file = normalize(join(out, path.slice(base.length)));
  if (!file.startsWith(normalize(out).replace(/[\\/]$/, "") + sep) && file !== normalize(out)) return undefined;
  return [path.endsWith("/") ? join(file, "index.html") : file, `${file}.html`].find(isFile);
}

/** Starts the server, on a port that is free if none is given. Returns the address of the site, and what stops the server. */
export async function serve(port = 0) {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, "http://127.0.0.1");
    const file = fileOf(decodeURIComponent(pathname));
    if (pathname === "/") response.writeHead(302, { Location: base }).end();
    else if (file === undefined) response.writeHead(404).end("not found");
    else {
      response.writeHead(200, { "Content-Type": types[extname(file)] ?? "application/octet-stream" });
      createReadStream(file).pipe(response);
    }
  });
  await new Promise((resolve, reject) => server.once("error", reject).listen(port, "127.0.0.1", resolve));
  const close = () => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  };
  return { address: `http://127.0.0.1:${server.address().port}${base}`, close };
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { address } = await serve(Number(process.argv[2] ?? 4173));
  console.log(address);
}
