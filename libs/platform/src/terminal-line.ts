/** Formats one JSON line of the log for people: time, level, message, then the fields; the stack of a bug below it. */
export function terminalLine(line: string): string {
  const {
    time,
    level,
    msg,
    stack,
    service: _always,
    ...fields
  } = JSON.parse(line) as Readonly<Record<string, unknown>>;
  const clock = String(time).slice(TIME_AT, TIME_END);
  const told = Object.entries(fields).map(([name, value]) => `  ${plain(name)}=${shown(value)}`);
  const below = typeof stack === 'string' ? stack.split('\n').map((each) => `    ${plain(each.trim())}\n`) : [];
  return `${clock} ${String(level).toUpperCase().padEnd(5)} ${plain(String(msg))}${told.join('')}\n${below.join('')}`;
}

/** `12:34:56.789` of `2026-11-20T12:34:56.789Z`. */
const TIME_AT = 11;
const TIME_END = 23;

/** Quotes text that contains spaces. */
function shown(value: unknown): string {
  const text = typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
  return plain(text);
}

/** Escapes control characters: values come from users and other machines and must not control the terminal. */
const plain = (text: string): string =>
  text.replace(CONTROLS, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);

const CONTROLS = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;
