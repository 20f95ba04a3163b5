// Tests whom a studio answers: the checks, their order, and what a refusal says.
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { once } from "node:events";
import { openInspector } from "forkpoint/inspect";
import { describe, expect, onTestFinished, test } from "vitest";
import { opened } from "../contents.js";
import { failure } from "../helpers.js";
import { ask, errorOf, saveRun, start, startStudio } from "./helpers.js";

const FORBIDDEN = { status: 403, code: "FORBIDDEN", message: "forbidden", retryable: false };

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
  "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";

describe("a request", () => {
  test("needs the host, and it must be this machine by one of its two names", async () => {
    const { port, bearer } = await start();
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `LOCALHOST:${port}`]) {
      expect(await ask(port, "/api/v1/info", { headers: { ...bearer, host } })).toMatchObject({ status: 200 });
    }
    const wrong = [
      "",
      "127.0.0.1",
      "localhost",
      `127.0.0.1:${port + 1}`,
      `evil.example:${port}`,
      `localhost.:${port}`,
      `127.0.0.1.evil.example:${port}`,
      `[::1]:${port}`,
      `0.0.0.0:${port}`,
      `127.1:${port}`,
      `user@127.0.0.1:${port}`,
    ];
    for (const host of wrong) {
      for (const path of ["/", "/api/v1/info", "/nothing"]) {
        expect(errorOf(await ask(port, path, { headers: { ...bearer, host } })), `${host} ${path}`).toEqual(FORBIDDEN);
      }
    }
  });

  test("with two hosts is refused", async () => {
    const { port, token } = await start();
    const socket = connect(port, "127.0.0.1");
    const good = `127.0.0.1:${port}`;
    socket.end(`GET /api/v1/info HTTP/1.1\r\nHost: ${good}\r\nHost: evil\r\nAuthorization: Bearer ${token}\r\n\r\n`);
    const chunks: Buffer[] = [];
    for await (const chunk of socket) chunks.push(chunk as Buffer);
    expect(Buffer.concat(chunks).toString()).toMatch(/^HTTP\/1\.1 (?:400|403) /);
  });

  test("from another origin is refused, whatever it asks for", async () => {
    const { port, bearer } = await start();
    const own = `http://127.0.0.1:${port}`;
    for (const path of ["/", "/api/v1/info"]) {
      expect(await ask(port, path, { headers: { ...bearer, origin: own } })).toMatchObject({ status: 200 });
      const others = [
        "null",
        "",
        "https://evil.example",
        `https://127.0.0.1:${port}`,
        `http://127.0.0.1:${port + 1}`,
        // The other name of this machine is another origin.
        `http://localhost:${port}`,
        `${own}/`,
        `${own}, ${own}`,
      ];
      for (const origin of others) {
        const answer = await ask(port, path, { headers: { ...bearer, origin } });
        expect(errorOf(answer), origin).toEqual(FORBIDDEN);
      }
    }
  });

  test("under /api/ that another site has caused is refused; the page itself may be led to from anywhere", async () => {
    const { port, bearer } = await start();
    for (const site of ["same-origin", "none"]) {
      const headers = { ...bearer, "sec-fetch-site": site };
      expect(await ask(port, "/api/v1/info", { headers })).toMatchObject({ status: 200 });
    }
    for (const site of ["cross-site", "same-site", "", "Same-Origin", "none, none"]) {
      const headers = { ...bearer, "sec-fetch-site": site };
      expect(errorOf(await ask(port, "/api/v1/info", { headers })), site).toEqual(FORBIDDEN);
      expect(await ask(port, "/", { headers: { "sec-fetch-site": site } })).toMatchObject({ status: 200 });
    }
  });

  test("under /api/ needs the token, which no cookie and no query can carry", async () => {
    const { port, token, bearer } = await start();
    expect(token).toMatch(/^[\w-]{43}$/);
    expect(await ask(port, "/api/v1/info", { headers: bearer })).toMatchObject({ status: 200 });
    const wrong = [
      "",
      "Bearer ",
      `bearer ${token}`,
      `Bearer ${token} `.trim() + "x",
      `Bearer ${token.slice(1)}`,
      token,
    ];
    for (const authorization of wrong) {
      expect(errorOf(await ask(port, "/api/v1/info", { headers: { authorization } })), authorization).toEqual(
        FORBIDDEN,
      );
    }
    const others = [{}, { cookie: `token=${token}` }, { "x-token": token }];
    for (const headers of others) {
      for (const path of [`/api/v1/info?token=${token}`, "/api/v1/nothing", "/api/", "/api/v1/events"]) {
        expect(errorOf(await ask(port, path, { headers })), path).toEqual(FORBIDDEN);
      }
    }
  });

  test("each start has its own token", async () => {
    const [first, second] = [await start(), await start()];
    expect(first.token).not.toBe(second.token);
    expect(errorOf(await ask(second.port, "/api/v1/info", { headers: first.bearer }))).toEqual(FORBIDDEN);
  });

  test("OPTIONS is refused, and no answer has a header that lets other origins in", async () => {
    const { port, bearer } = await start();
    for (const path of ["/", "/api/v1/info", "/api/v1/fork", "/nothing"]) {
      const headers = { ...bearer, "access-control-request-method": "POST" };
      const answer = await ask(port, path, { method: "OPTIONS", headers });
      expect(errorOf(answer)).toEqual(FORBIDDEN);
      const names = Object.keys({ ...answer.headers, ...(await ask(port, path, { headers: bearer })).headers });
      expect(names.filter((name) => name.startsWith("access-control") || name === "set-cookie")).toEqual([]);
    }
  });
});

describe("the order of the checks", () => {
  test("who asks comes before what is asked", async () => {
    const { port, bearer } = await start("memory:", { write: false });
    const evil = { host: `evil:${port}` };
    // Each of these would be another answer for someone who may ask.
    for (const [method, path] of [
      ["DELETE", "/api/v1/info"],
      ["POST", "/api/v1/fork"],
      ["GET", "/api/v1/nothing"],
      ["PUT", "/"],
    ] as const) {
      expect(errorOf(await ask(port, path, { method, headers: { ...bearer, ...evil } }))).toEqual(FORBIDDEN);
      if (path !== "/") expect(errorOf(await ask(port, path, { method }))).toEqual(FORBIDDEN);
    }
    expect(await ask(port, "/api/v1/info", { method: "DELETE", headers: bearer })).toMatchObject({ status: 405 });
  });

  test("the method comes before the right to write, that before the type, that before the route", async () => {
    const reader = await start("memory:", { write: false });
    const writer = await start("memory:", { write: true });
    expect(errorOf(await reader.ask("fork", { method: "PUT" }))).toMatchObject({ status: 405 });
    expect(errorOf(await reader.ask("nothing", { method: "POST" }))).toMatchObject({ status: 403, code: "READ_ONLY" });
    const form = { method: "POST", headers: { "content-type": "application/x-www-form-urlencoded" }, body: "a=1" };
    expect(errorOf(await writer.ask("nothing", form))).toMatchObject({ status: 415 });
    expect(errorOf(await writer.post("nothing", {}))).toMatchObject({ status: 404 });
    expect(errorOf(await writer.post("info", {}))).toMatchObject({ status: 405 });
    expect(errorOf(await writer.ask("fork"))).toMatchObject({ status: 405 });
  });
});

describe("methods", () => {
  test("GET and HEAD read, and HEAD has no body", async () => {
    const { port, bearer } = await start();
    for (const path of ["/", "/api/v1/info", "/api/v1/events"]) {
      const { status, text, headers } = await ask(port, path, { method: "HEAD", headers: bearer });
      expect({ status, text }).toEqual({ status: 200, text: "" });
      expect(headers["content-security-policy"]).toBe(policy);
    }
  });

  test("others are 405 and say what is allowed", async () => {
    const { port, bearer } = await start();
    for (const method of ["PUT", "DELETE", "PATCH", "TRACE", "PROPFIND"]) {
      const answer = await ask(port, "/api/v1/info", { method, headers: bearer });
      expect(errorOf(answer)).toMatchObject({ status: 405, code: "METHOD_NOT_ALLOWED" });
      expect(answer.headers.allow).toBe("GET, HEAD, POST");
    }
    const posted = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" };
    expect((await ask(port, "/", posted)).headers.allow).toBe("GET, HEAD");
  });

  test("POST without --write is READ_ONLY and changes nothing", async () => {
    const store = await opened("memory:");
    const [id] = await saveRun(store, "run", [{ n: 1 }]);
    const reader = await start(store, { write: false });
    for (const [route, body] of [
      ["fork", { space: "agentos", run: "run", id }],
      ["rm", { space: "agentos", run: "run" }],
    ] as const) {
      expect(errorOf(await reader.post(route, body))).toMatchObject({ status: 403, code: "READ_ONLY" });
    }
    expect((await store.stats()).checkpoints).toBe(1);
  });

  test("the body must be JSON by its type", async () => {
    const { ask: askRoute } = await start();
    const types = ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonx", ""];
    for (const type of types) {
      const answer = await askRoute("fork", { method: "POST", headers: { "content-type": type }, body: "{}" });
      expect(errorOf(answer), type).toMatchObject({ status: 415 });
    }
    for (const type of ["application/json", "application/json; charset=utf-8", "Application/JSON"]) {
      const answer = await askRoute("fork", { method: "POST", headers: { "content-type": type }, body: "{}" });
      expect(errorOf(answer), type).toMatchObject({ status: 400 });
    }
  });

  test("a body of more than 16 MiB is refused, said or not", async () => {
    const { port, bearer } = await start();
    const headers = { ...bearer, "content-type": "application/json" };
    const said = { ...headers, "content-length": String(16 * 2 ** 20 + 1) };
    const early = await ask(port, "/api/v1/fork", { method: "POST", headers: said });
    expect(errorOf(early)).toMatchObject({ status: 413, code: "TOO_LARGE" });
    // Without a length, it is counted while it comes.
    const socket = connect(port, "127.0.0.1");
    const answer = once(socket, "data");
    socket.on("error", () => {});
    const lines = Object.entries({ host: `127.0.0.1:${port}`, ...headers, "transfer-encoding": "chunked" });
    socket.write(
      `POST /api/v1/fork HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}`).join("\r\n")}\r\n\r\n`,
    );
    const chunk = `100000\r\n${" ".repeat(2 ** 20)}\r\n`;
    for (let n = 0; n < 17; n++) socket.write(chunk);
    expect(String((await answer)[0])).toMatch(/^HTTP\/1\.1 413 /);
    socket.destroy();
    // One that is as large as allowed is read.
    const body = JSON.stringify({ space: "agentos", run: "none", id: "none", state: "x".repeat(15 * 2 ** 20) });
    expect(errorOf(await ask(port, "/api/v1/fork", { method: "POST", headers, body }))).toMatchObject({ status: 404 });
  });
});

describe("answers", () => {
  test("have the headers of the guide, also refusals", async () => {
    const { port, bearer } = await start();
    for (const [path, headers] of [
      ["/", {}],
      ["/nothing", {}],
      ["/api/v1/info", bearer],
      ["/api/v1/info", {}],
      ["/api/v1/nothing", bearer],
      ["/api/v1/raw?space=agentos&run=none", bearer],
    ] as const) {
      const answer = await ask(port, path, { headers });
      expect(answer.headers).toMatchObject({
        "content-security-policy": policy,
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cross-origin-resource-policy": "same-origin",
        "cross-origin-opener-policy": "same-origin",
      });
      if (path.startsWith("/api/")) expect(answer.headers["cache-control"]).toBe("no-store");
    }
  });

  test("the page and its files are a map, and nothing else is there", async () => {
    const { port } = await start();
    const page = await ask(port, "/");
    expect(page.headers["content-type"]).toBe("text/html; charset=utf-8");
    const names = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, name]) => name!);
    expect(names.map((name) => name.replace(/-[\w]{8}\./, "-HASH.")).toSorted()).toEqual([
      "assets/icon-HASH.svg",
      "assets/main-HASH.js",
      "assets/style-HASH.css",
    ]);
    for (const name of names) {
      const file = await ask(port, `/${name}`);
      expect(file.status).toBe(200);
      expect(file.headers["cache-control"]).toContain("immutable");
    }
    // Nothing inline, and nothing from elsewhere.
    expect(page.text).not.toMatch(/<style|style=|<script(?![^>]+src=)|\son\w+=|https?:/);
    const nowhere =
      "/assets/ /assets /index.html /package.json /../package.json /assets/../../package.json /%2e%2e/package.json " +
      `/assets/..%2f..%2fpackage.json // //evil.example/ /__proto__ /constructor /toString /assets/main.js /${names[0]}/ /api`;
    for (const path of nowhere.split(" ")) expect(errorOf(await ask(port, path)), path).toMatchObject({ status: 404 });
  });

  test("a request for another server by its whole address is not routed", async () => {
    const { port, bearer } = await start();
    expect(errorOf(await ask(port, "http://evil.example/api/v1/info", { headers: bearer }))).toMatchObject({
      status: 404,
    });
  });
});

describe("startStudio", () => {
  test("listens on 127.0.0.1 and nowhere else", async () => {
    const { url, port } = await start();
    expect(url).toBe(`http://127.0.0.1:${port}/#token=${url.slice(-43)}`);
    const socket = connect(port, "::1");
    const [error] = (await once(socket, "error")) as [NodeJS.ErrnoException];
    expect(["ECONNREFUSED", "EADDRNOTAVAIL", "EAFNOSUPPORT"]).toContain(error.code);
  });

  test("takes another port if one is taken that was not asked for, and else says so", async () => {
    const other = createServer();
    other.listen(0, "127.0.0.1");
    await once(other, "listening");
    onTestFinished(() => void other.close());
    const { port } = other.address() as AddressInfo;
    const inspector = await openInspector(await opened("memory:"));
    const error = await failure(startStudio(inspector, { port, write: false, portWasSaid: true }), "UNAVAILABLE");
    expect(error.message).toContain(`port ${port} is taken`);
    const studio = await startStudio(inspector, { port, write: false, portWasSaid: false });
    expect(studio.port).not.toBe(port);
    expect(await ask(studio.port, "/")).toMatchObject({ status: 200 });
    await studio.close();
  });

  test("close() ends all connections, also of events, and may be called twice", async () => {
    const studio = await start();
    const events = studio.ask("events");
    const ended = events.then(
      ({ text }) => text,
      () => "cut",
    );
    await Promise.all([studio.close(), studio.close()]);
    await ended;
    await expect(ask(studio.port, "/")).rejects.toThrow("ECONNREFUSED");
    expect(await studio.inspector.info()).toMatchObject({ backend: "memory" });
  });
});
