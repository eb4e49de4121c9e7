/** Like kubectl, returns one line without terminal control characters: the text may come from anyone. */
export function harmless(text: string): string {
  const [line = '', ...more] = text.split(/[\n\r\f]/);
  return more.length === 0 ? escaped(line) : `${escaped(line)}...`;
}

const escaped = (line: string): string =>
  line.replace(/\p{Cc}/gu, (char) =>
    char === '\u001b' ? '^[' : `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
