// Encryption: what each sslmode verifies, with a certificate that the test makes.
import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStore } from "forkpoint";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { warned } from "./faults.js";
import { type Server, inMemory, startServer } from "./server.mjs";

const folder = mkdtempSync(join(tmpdir(), "forkpoint-test-"));
const file = (name: string) => join(folder, name);
const scram = { password_encryption: "scram-sha-256" };
let server: Server;
/** A server that cannot encrypt. */
let plain: Server;

function openssl(...args: string[]): void {
  execFileSync("openssl", args, { cwd: folder, stdio: "ignore" });
}

/** Makes a key and a certificate that signs others. */
function authority(name: string): void {
  const key = ["-newkey", "rsa:2048", "-nodes", "-keyout", `${name}.key`];
  openssl("req", "-x509", ...key, "-out", `${name}.crt`, "-subj", `/CN=${name}`, "-days", "2");
}

beforeAll(async () => {
  server = (await startServer({ settings: scram, ...inMemory }))!;
  authority("signer");
  authority("stranger");
  const names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
  const key = ["-newkey", "rsa:2048", "-nodes", "-keyout", join(server.data, "server.key")];
  openssl("req", ...key, "-out", "server.csr", ...names);
  const signed = "-CA signer.crt -CAkey signer.key -CAcreateserial -copy_extensions copy -days 2".split(" ");
  openssl("x509", "-req", "-in", "server.csr", ...signed, "-out", join(server.data, "server.crt"));
  const { uid, gid } = statSync(server.data);
  for (const name of ["server.key", "server.crt"]) {
    chownSync(join(server.data, name), uid, gid);
    chmodSync(join(server.data, name), 0o600);
  }
  await server.query("ALTER SYSTEM SET ssl = on");
  await server.query("SELECT pg_reload_conf()");
  plain = (await startServer({ settings: scram, ...inMemory }))!;
  for (const one of [server, plain]) {
    await one.query("CREATE ROLE agent LOGIN SUPERUSER PASSWORD 'secret'");
    await one.requirePasswords();
  }
});

afterAll(async () => {
  await server?.stop();
  await plain?.stop();
  rmSync(folder, { recursive: true });
});

const url = (host: string, query: string) => server.url({ query }).replace("127.0.0.1", host);

/** The URL of a role that needs its password. */
const login = (one: Server, query: string) => one.url({ user: "agent", password: "secret", query });

/** Opens a store and counts. */
async function count(target: string): Promise<number> {
  await using store = await openStore(target);
  return (await store.stats()).checkpoints;
}

/** Opens a store. Returns whether its connections are encrypted. */
async function encrypted(host: string, query: string): Promise<boolean> {
  await using store = await openStore(url(host, query));
  await store.stats();
  const sql =
    "SELECT bool_and(ssl) AS ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'forkpoint'";
  return ((await server.query(sql))[0] as { ssl: boolean }).ssl;
}

describe("is encrypted", () => {
  it.each([
    ["localhost", () => ""],
    ["localhost", () => "?sslmode=prefer"],
    ["localhost", () => "?sslmode=require"],
    ["localhost", () => "?sslmode=no-verify"],
    ["localhost", () => "?ssl=true"],
    ["127.0.0.1", () => `?sslmode=require&sslrootcert=${file("signer.crt")}`],
    ["127.0.0.1", () => `?sslmode=verify-ca&sslrootcert=${file("signer.crt")}`],
    ["localhost", () => `?sslmode=verify-full&sslrootcert=${file("signer.crt")}`],
  ])("%s%s", async (host, query) => expect(await encrypted(host, query())).toBe(true));

  it("unless the URL says that it must not be", async () =>
    expect(await encrypted("localhost", "?sslmode=disable")).toBe(false));
});

/** What is wrong, and what the error says to do. */
describe("is refused at once", () => {
  it.each<[what: string, host: string, query: () => string, remedy?: string]>([
    [
      "the certificate has another name",
      "127.0.0.1",
      () => `?sslmode=verify-full&sslrootcert=${file("signer.crt")}`,
      "verify-ca",
    ],
    ["somebody else has signed it", "localhost", () => `?sslmode=verify-full&sslrootcert=${file("stranger.crt")}`],
    ["somebody else has signed it", "localhost", () => `?sslmode=verify-ca&sslrootcert=${file("stranger.crt")}`],
    ["somebody else has signed it", "localhost", () => `?sslmode=require&sslrootcert=${file("stranger.crt")}`],
    ["the system does not trust its issuer", "localhost", () => "?sslmode=verify-full", "sslrootcert=<file>"],
    ["the file has no certificate", "localhost", () => `?sslmode=verify-full&sslrootcert=${file("signer.key")}`],
    ["there is no such file", "localhost", () => `?sslmode=verify-full&sslrootcert=${file("none")}`],
  ])("%s: %s", async (_, host, query, remedy = "") => {
    const message = expect.stringContaining(remedy) as string;
    const refused = { code: "UNAVAILABLE", retryable: false, message };
    await expect(openStore(url(host, query()))).rejects.toMatchObject(refused);
  });
});

describe("a server that cannot encrypt", () => {
  it.each(["", "?sslmode=prefer", "?sslmode=disable"])("is used if it is on this machine%s", async (query) => {
    expect(await count(plain.url({ query }))).toBe(0);
    expect(await count(plain.url({ query }).replace("127.0.0.1", "localhost"))).toBe(0);
  });

  it.each([...["require", "no-verify", "verify-ca", "verify-full"].map((mode) => `sslmode=${mode}`), "ssl=true"])(
    "is refused with %s",
    async (query) => {
      const opened = openStore(plain.url({ query: `?${query}` }), { busyTimeoutMs: 300 });
      await expect(opened).rejects.toMatchObject({
        code: "UNAVAILABLE",
        message: expect.stringMatching(/TLS/) as string,
      });
    },
  );

  // A host counts as this machine only if both its name and its address say so.
  it.each(["", "&sslmode=prefer", "&sslmode=require"])("is refused if its host is another machine%s", async (query) => {
    const target = plain.url({ query: `?hostaddr=127.0.0.1${query}` }).replace("127.0.0.1:", "db.example:");
    await expect(openStore(target, { busyTimeoutMs: 300 })).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringMatching(/TLS/) as string,
    });
  });

  it("is used if its host is another machine, with sslmode=disable only", async () => {
    const target = plain.url({ query: "?hostaddr=127.0.0.1&sslmode=disable" }).replace("127.0.0.1:", "db.example:");
    expect(await count(target)).toBe(0);
  });
});

describe("channel_binding", () => {
  it.each(["require", "prefer", "disable"])("%s connects over TLS, with a password", async (binding) => {
    expect(await count(login(server, `?sslmode=require&channel_binding=${binding}`))).toBe(0);
  });

  it.each(["prefer", "disable"])("%s connects without TLS", async (binding) => {
    expect(await count(login(plain, `?channel_binding=${binding}`))).toBe(0);
    expect(await count(login(server, `?sslmode=disable&channel_binding=${binding}`))).toBe(0);
  });

  it.each<[what: string, target: () => string]>([
    ["a server that cannot encrypt", () => login(plain, "?channel_binding=require")],
    ["a connection that is not encrypted", () => login(server, "?channel_binding=require&sslmode=disable")],
    // Nothing proves that it is the server that knows the password.
    ["a role that needs no password", () => server.url({ query: "?channel_binding=require&sslmode=require" })],
    ["a role that needs no password, without TLS", () => plain.url({ query: "?channel_binding=require" })],
  ])("require refuses %s", async (_, target) => {
    const error: any = await openStore(target(), { busyTimeoutMs: 300 }).then(
      (store) => store.close(),
      (error: unknown) => error,
    );
    expect(["INVALID_ARGUMENT", "UNAVAILABLE"]).toContain(error?.code);
    expect(error.message).toMatch(/channel.binding/);
  });

  it.each(["", "required", "Require", "on", "1"])("%j is no value of it", async (binding) => {
    const opened = openStore(login(server, `?sslmode=require&channel_binding=${binding}`));
    await expect(opened).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
      message: expect.stringContaining('"channel_binding"') as string,
    });
  });
});

describe("a warning", () => {
  const codes = async (target: string) => (await warned(target)).map(({ code }) => code);
  const elsewhere = (query: string) =>
    server.url({ query: `?hostaddr=127.0.0.1&sslmode=${query}` }).replace("127.0.0.1:", "db.example:");

  it.each(["require", "prefer"])("says that nothing verifies another machine with sslmode=%s", async (mode) => {
    expect(await codes(elsewhere(mode))).toEqual(["FORKPOINT_SERVER_NOT_VERIFIED"]);
  });

  it("is not needed for this machine, or if the certificate is verified", async () => {
    expect(await codes(url("localhost", "?sslmode=require"))).toEqual([]);
    expect(await codes(url("127.0.0.1", ""))).toEqual([]);
    expect(await codes(elsewhere("no-verify"))).toEqual([]);
    expect(await codes(elsewhere(`verify-ca&sslrootcert=${file("signer.crt")}`))).toEqual([]);
  });
});
