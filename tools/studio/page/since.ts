// Reads a time before now, such as `15m`.

const units: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Returns the time in ms since the epoch. Null: any time. */
export function sinceOf(text: string): number | null {
  const [, number, unit] = /^(\d{1,5})([mhd])$/.exec(text) ?? [];
  return unit === undefined ? null : Date.now() - Number(number) * units[unit]!;
}
