// The platforms with a prebuilt addon. Each has an npm package, and npm installs the one for the machine.

/** The platforms by name. The addon's file name and the name of its package both contain the platform's name. */
export const platforms = {
  "linux-x64-gnu": { target: "x86_64-unknown-linux-gnu", os: "linux", cpu: "x64", libc: "glibc" },
  "linux-arm64-gnu": { target: "aarch64-unknown-linux-gnu", os: "linux", cpu: "arm64", libc: "glibc" },
  "linux-x64-musl": { target: "x86_64-unknown-linux-musl", os: "linux", cpu: "x64", libc: "musl" },
  "linux-arm64-musl": { target: "aarch64-unknown-linux-musl", os: "linux", cpu: "arm64", libc: "musl" },
  "darwin-x64": { target: "x86_64-apple-darwin", os: "darwin", cpu: "x64" },
  "darwin-arm64": { target: "aarch64-apple-darwin", os: "darwin", cpu: "arm64" },
  "win32-x64-msvc": { target: "x86_64-pc-windows-msvc", os: "win32", cpu: "x64" },
  "win32-arm64-msvc": { target: "aarch64-pc-windows-msvc", os: "win32", cpu: "arm64" },
};

/** Returns the file name that cargo gives this crate's dynamic library. */
export function library(os) {
  if (os === "win32") return "forkpoint.dll";
  return os === "darwin" ? "libforkpoint.dylib" : "libforkpoint.so";
}

/** Returns the name of this machine's platform. */
export function here() {
  const { platform, arch } = process;
  if (platform === "win32") return `win32-${arch}-msvc`;
  if (platform !== "linux") return `${platform}-${arch}`;
  process.report.excludeNetwork = true;
  const glibc = process.report.getReport().header.glibcVersionRuntime !== undefined;
  return `linux-${arch}-${glibc ? "gnu" : "musl"}`;
}
