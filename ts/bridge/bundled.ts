/**
 * Refuses to run from a bundle. The addon is a file of this package or of a package beside it, so bundled code cannot
 * find it. Each entry point imports this module first. It imports nothing, because in some bundles even the import of a
 * Node module fails, with an error that does not help.
 */

/** Makes the error for a bundle. The class ForkpointError cannot be imported here. */
export function bundledError(): Error {
  const message =
    "forkpoint cannot be bundled, because it loads a native addon. Mark forkpoint as external in your bundler and " +
    "install it beside the bundle:\n" +
    "  esbuild:   --external:forkpoint\n" +
    '  webpack:   externals: [/^forkpoint(\\/|$)/], externalsType: "commonjs"\n' +
    "  Rollup:    external: [/^forkpoint(\\/|$)/]\n" +
    '  Vite SSR:  ssr: { external: ["forkpoint"] }\n' +
    '  Next.js:   serverExternalPackages: ["forkpoint"]\n' +
    "See docs/deploy.md in the forkpoint repository.";
  return Object.assign(new Error(message), { name: "ForkpointError", code: "UNSUPPORTED", retryable: false });
}

// In a bundle, this name is missing or is the name of another file.
if (typeof __filename !== "string" || !/[\\/]bundled\.js$/.test(__filename)) throw bundledError();
