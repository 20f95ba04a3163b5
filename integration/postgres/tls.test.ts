// Encryption: what each sslmode verifies, with a certificate that the test makes.
import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStore } from "forkpoint";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Server, inMemory, startServer } from "./server.mjs";

const folder = mkdtempSync(join(tmpdir(), "forkpoint-test-"));
const file = (name: string) => join(folder, name);
let server: Server;

function openssl(...args: string[]): void {
  execFileSync("openssl", args, { cwd: folder, stdio: "ignore" });
}

/** Makes a key and a certificate that signs others. */
function authority(name: string): void {
  const key = ["-newkey", "rsa:2048", "-nodes", "-keyout", `${name}.key`];
  openssl("req", "-x509", ...key, "-out", `${name}.crt`, "-subj", `/CN=${name}`, "-days", "2");
}

beforeAll(async () => {
  server = (await startServer(inMemory))!;
  authority("signer");
  authority("stranger");
  const names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
  openssl(
    "req",
    "-newkey",
    "rsa:2048",
    "-nodes",
    "-keyout",
    join(server.data, "server.key"),
    "-out",
    "server.csr",
    ...names,
  );
  const signed = [
    "-CA",
    "signer.crt",
    "-CAkey",
    "signer.key",
    "-CAcreateserial",
    "-copy_extensions",
    "copy",
    "-days",
    "2",
  ];
  openssl("x509", "-req", "-in", "server.csr", ...signed, "-out", join(server.data, "server.crt"));
  const { uid, gid } = statSync(server.data);
  for (const name of ["server.key", "server.crt"]) {
    chownSync(join(server.data, name), uid, gid);
    chmodSync(join(server.data, name), 0o600);
  }
  await server.query("ALTER SYSTEM SET ssl = on");
  await server.query("SELECT pg_reload_conf()");
});

afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true });
});

const url = (host: string, query: string) => server.url({ query }).replace("127.0.0.1", host);

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
    ["127.0.0.1", () => `?sslmode=verify-ca&sslrootcert=${file("signer.crt")}`],
    ["localhost", () => `?sslmode=verify-full&sslrootcert=${file("signer.crt")}`],
  ])("%s%s", async (host, query) => expect(await encrypted(host, query())).toBe(true));

  it("unless the URL says that it must not be", async () =>
    expect(await encrypted("localhost", "?sslmode=disable")).toBe(false));
});

describe("is refused at once", () => {
  it.each([
    ["the certificate has another name", "127.0.0.1", () => `?sslmode=verify-full&sslrootcert=${file("signer.crt")}`],
    ["somebody else has signed it", "localhost", () => `?sslmode=verify-full&sslrootcert=${file("stranger.crt")}`],
    ["somebody else has signed it", "localhost", () => `?sslmode=verify-ca&sslrootcert=${file("stranger.crt")}`],
    ["the system does not know who has signed it", "localhost", () => "?sslmode=verify-full"],
    ["the file has no certificate", "localhost", () => `?sslmode=verify-full&sslrootcert=${file("signer.key")}`],
    ["there is no such file", "localhost", () => `?sslmode=verify-full&sslrootcert=${file("none")}`],
  ])("%s: %s", async (_, host, query) => {
    await expect(openStore(url(host, query()))).rejects.toMatchObject({ code: "UNAVAILABLE", retryable: false });
  });
});
