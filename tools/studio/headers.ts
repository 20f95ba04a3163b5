/** The headers of every answer, including refusals. */
export const headers: Readonly<Record<string, string>> = {
  "Content-Security-Policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ].join("; "),
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Cross-Origin-Opener-Policy": "same-origin",
};

/** The headers of an answer under `/api/`. */
export const apiHeaders: Readonly<Record<string, string>> = {
  ...headers,
  "Cache-Control": "no-store",
  "Content-Type": "application/json; charset=utf-8",
};

/** The name of an asset contains a hash, so browsers may cache it. The page itself is revalidated each time. */
export const cacheControl = (path: string): string =>
  path.startsWith("/assets/") ? "private, max-age=31536000, immutable" : "no-cache";
