// Writes words for a shell, for commands that people copy.

/** Quotes a word for a POSIX shell, if necessary. Control characters become escapes in `$'…'`. */
export function shellWord(text: string): string {
  if (/^[\w@%+=:,./-]+$/.test(text)) return text;
  if (!/\p{Cc}/u.test(text)) return `'${text.replaceAll("'", `'\\''`)}'`;
  const escaped = text.replaceAll(/[\\']|\p{Cc}/gu, (character) =>
    /\p{Cc}/u.test(character) ? `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}` : `\\${character}`,
  );
  return `$'${escaped}'`;
}
