// Starts the server of docs/http.md, and serves the page beside it.
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { say } from "./hold.mjs";
import { server } from "./server.mjs";

const [handle] = server.listeners("request");
server.removeAllListeners("request");
server.on("request", (request, response) => {
  if (request.url.startsWith("/threads/")) return handle(request, response);
  response.writeHead(200, { "content-type": "text/html" }).end(readFileSync("page.html"));
});
if (!server.listening) await once(server, "listening");
say({ event: "listening", port: server.address().port });
