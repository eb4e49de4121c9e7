/** Text forms of times. These functions are pure: the current time always comes from a Clock. */

/** Most texts of a burst share one second. */
let last = { second: Number.NaN, text: '' };

/** `metav1.Time`: whole seconds, UTC. */
export function formatTime(epochMs: number): string {
  const second = Math.floor(epochMs / 1000);
  if (second !== last.second) last = { second, text: `${new Date(second * 1000).toISOString().slice(0, 19)}Z` };
  return last.text;
}

/** `metav1.MicroTime`: six decimals, UTC. */
export function formatMicroTime(epochMs: number): string {
  const micros = Math.floor((epochMs - Math.floor(epochMs)) * 1000);
  return `${new Date(Math.floor(epochMs)).toISOString().slice(0, 23)}${String(micros).padStart(3, '0')}Z`;
}

/** Parses an RFC 3339 text to epoch milliseconds; `undefined` for any other text. */
export function parseTime(text: string): number | undefined {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(text)) return undefined;
  const parsed = Date.parse(text);
  return Number.isNaN(parsed) ? undefined : parsed;
}

/** Parses the date of an HTTP header to epoch milliseconds; `undefined` for any other text. */
export function parseHttpDate(text: string): number | undefined {
  if (!/^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/.test(text)) return undefined;
  const parsed = Date.parse(text);
  return Number.isNaN(parsed) ? undefined : parsed;
}

/** Makes the `Date` object that a library requires. */
export function dateOf(epochMs: number): Date {
  return new Date(epochMs);
}
