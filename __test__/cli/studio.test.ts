// Tests how `forkpoint studio` begins and ends. What it serves is tested in __test__/studio.
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { windows } from "../helpers.js";
import { filled, refused, start } from "./run.js";

/** Asks a studio for something. The token is in the fragment of its address. */
function ask(url: string, path: string): Promise<Response> {
  const { origin, hash } = new URL(url);
  const token = hash.slice("#token=".length);
  return fetch(`${origin}${path}`, { headers: { authorization: `Bearer ${token}` } });
}

/** Takes a port until the test ends. */
async function taken(port = 0): Promise<number> {
  const server = createServer().listen(port, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

describe("studio", () => {
  test("prints its address, serves the database, and ends with 0", async () => {
    const studio = start(["studio", "--port", "0", "--db", await filled()]);
    const [url] = await studio.lines(1);
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#token=[\w-]{43}$/);
    expect((await fetch(new URL("/", url))).status).toBe(200);
    expect(await (await ask(url!, "/api/v1/info")).json()).toMatchObject({ backend: "sqlite", write: false });
    expect((await fetch(new URL("/api/v1/info", url))).status).toBe(403);
    studio.child.kill("SIGTERM");
    const { code, signal, stdout } = await studio.ended;
    expect({ code, signal, stdout }).toEqual({
      code: windows ? null : 0,
      signal: windows ? "SIGTERM" : null,
      stdout: `${url}\n`,
    });
  });

  test("--json prints one line, and --write lets the page write", async () => {
    const studio = start(["studio", "--json", "--write", "--port", "0", "--db", await filled()]);
    const [line] = await studio.lines(1);
    const { url, port, write } = JSON.parse(line!) as { url: string; port: number; write: boolean };
    expect([new URL(url).port, write]).toEqual([String(port), true]);
    expect(await (await ask(url, "/api/v1/info")).json()).toMatchObject({ write: true });
    studio.child.kill("SIGINT");
    if (!windows) expect((await studio.ended).code).toBe(0);
  });

  test("takes another port if the usual one is taken, and none if the port was said", async () => {
    const path = await filled();
    const port = await taken();
    const error = await refused(["studio", "--port", String(port), "--db", path], 5);
    expect(error).toMatchObject({ code: "UNAVAILABLE", message: expect.stringContaining(String(port)) });
    // Another test may have the usual port. Then it is taken just as well.
    await taken(4650).catch(() => undefined);
    const studio = start(["studio", "--json", "--db", path]);
    expect(JSON.parse((await studio.lines(1))[0]!).port).not.toBe(4650);
  });
});
