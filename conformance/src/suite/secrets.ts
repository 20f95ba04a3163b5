// Keeps passwords and tokens of a target out of reports.

/** The names of the query's values that are secret. */
const SECRET = /pass|pwd|token|secret|key|auth|credential/i;
/** A shorter secret could be a part of any word. */
const LEAST = 4;

/** Returns the parts of a target that are secret. */
function secretsOf(target: string): string[] {
  const [, password] = /:\/\/[^:/?#]*:(.*)@/.exec(target) ?? [];
  const query = [...target.matchAll(/[?&;]([^=&;#]+)=([^&;#]*)/g)].filter(([, name]) => SECRET.test(name!));
  return [password ?? "", ...query.map(([, , value]) => value!)];
}

/** Returns the target without what is secret in it. */
export const publicTarget = (target: string): string =>
  target
    .replace(/(:\/\/[^:/?#]*:).*(?=@)/, "$1***")
    .replaceAll(/([?&;])([^=&;#]+)=([^&;#]*)/g, (all, before, name) =>
      SECRET.test(name) ? `${before}${name}=***` : all,
    );

/** Returns a function that takes what is secret in a target out of a text. */
export function withoutSecrets(target: string): (text: string) => string {
  const secrets = secretsOf(target).filter(({ length }) => length >= LEAST);
  return (text) => secrets.reduce((left, secret) => left.replaceAll(secret, "***"), text);
}
