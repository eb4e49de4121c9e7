/** The parts of the two layouts, each with its pattern. */
const DATE_AND_TIME: readonly (readonly [piece: string, pattern: RegExp])[] = [
  ['2006', /^\d{4}/],
  ['-', /^-/],
  ['01', /^\d\d/],
  ['-', /^-/],
  ['02', /^\d\d/],
  ['T', /^T/],
  ['15', /^\d\d/],
  [':', /^:/],
  ['04', /^\d\d/],
  [':', /^:/],
  ['05', /^\d\d(\.\d+)?/],
];
const ZONE = ['Z07:00', /^(Z|[+-]\d\d:\d\d)/] as const;
const MICROS = ['.000000', /^/] as const;

/** Explains why a text is not an RFC 3339 time, in the words of Go's time.Parse. */
export function timeParseError(text: string, scalar: 'time' | 'microTime'): string {
  const layout = scalar === 'time' ? [...DATE_AND_TIME, ZONE] : [...DATE_AND_TIME, MICROS, ZONE];
  let rest = text;
  for (const [piece, pattern] of layout) {
    const match = pattern.exec(rest);
    if (match === null) {
      const pieces = layout.map(([name]) => name).join('');
      return `parsing time ${quote(text)} as ${quote(pieces)}: cannot parse ${quote(rest)} as ${quote(piece)}`;
    }
    rest = rest.slice(match[0].length);
  }
  return `parsing time ${quote(text)}: ${rest === '' ? outOfRange(text) : `extra text: ${quote(rest)}`}`;
}

const quote = (text: string): string => JSON.stringify(text);

function outOfRange(text: string): string {
  const [, month = 0, , hour = 0, minute = 0, second = 0] = text.split(/[-T:.Z+]/).map(Number);
  if (month < 1 || month > 12) return 'month out of range';
  if (hour > 23) return 'hour out of range';
  if (minute > 59) return 'minute out of range';
  return second > 59 ? 'second out of range' : 'day out of range';
}
