export interface Key {
  readonly key: string;
  readonly ctrlKey: boolean;
  readonly altKey: boolean;
  readonly metaKey: boolean;
}

const ESC = '\x1b';
const NAMED: ReadonlyMap<string, string> = new Map([
  ['Enter', '\r'],
  ['Backspace', '\x7f'],
  ['Tab', '\t'],
  ['Escape', ESC],
  ['ArrowUp', `${ESC}[A`],
  ['ArrowDown', `${ESC}[B`],
  ['ArrowRight', `${ESC}[C`],
  ['ArrowLeft', `${ESC}[D`],
  ['Home', `${ESC}[H`],
  ['End', `${ESC}[F`],
  ['Insert', `${ESC}[2~`],
  ['Delete', `${ESC}[3~`],
  ['PageUp', `${ESC}[5~`],
  ['PageDown', `${ESC}[6~`],
]);
const CTRL_OF_AT = 64;

/** What a terminal sends for a key; empty: nothing, and the browser does what it does with it. */
export function textOfKey({ key, ctrlKey, altKey, metaKey }: Key): string {
  if (metaKey) return '';
  const named = NAMED.get(key);
  if (named !== undefined) return ctrlKey ? '' : named;
  // A character, however many units it has; other names are longer.
  if (Array.from(key).length !== 1) return '';
  if (!ctrlKey) return altKey ? ESC + key : key;
  const code = key.toUpperCase().charCodeAt(0);
  return code >= CTRL_OF_AT && code < CTRL_OF_AT + 32 ? String.fromCharCode(code - CTRL_OF_AT) : '';
}
