/** Keeps passwords out of the output of the command line. */

const stars = "***";

/** Matches the login of a URL, between the scheme and the last `@` before the host. */
const login = /([a-z][a-z0-9+.-]{0,30}:\/\/)([^\s/?#"'`]*|[^\s"'`]*)@/gi;

/** Matches a password in the parameters of a URL. */
const parameter = /([?&](?:ssl)?password=)[^&\s"'`]*/gi;

/** The passwords in the arguments and the environment. */
const known = new Set<string>();

/** Remembers the password of a URL, so that no message shows it. */
export function learnSecrets(target: string): void {
  const [, found] = /^[a-z][a-z0-9+.-]*:\/\/[^:@/?#]*:([^]*)@/i.exec(target) ?? [];
  const parameters = [...target.matchAll(/[?&](?:ssl)?password=([^&#]*)/gi)].map(([, value]) => value);
  for (const secret of [found, ...parameters]) {
    if (secret === undefined || secret === "") continue;
    known.add(secret);
    try {
      known.add(decodeURIComponent(secret));
    } catch {
      // The password is not URL-encoded, and was added above.
    }
  }
}

export function redact(text: string): string {
  let shown = text;
  for (const secret of known) if (secret.length >= 4) shown = shown.replaceAll(secret, stars);
  return shown.replaceAll(parameter, `$1${stars}`).replaceAll(login, (_, scheme: string, rest: string) => {
    const colon = rest.indexOf(":");
    return colon < 0 ? `${scheme}${rest}@` : `${scheme}${rest.slice(0, colon)}:${stars}@`;
  });
}
