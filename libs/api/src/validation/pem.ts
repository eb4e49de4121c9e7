export interface PemBlock {
  readonly type: string;
  readonly body: string;
}

const BEGIN = '-----BEGIN ';
const END = '-----END ';
const DASHES = '-----';

/**
 * Returns the blocks of a PEM text. The text is untrusted, so it is scanned once, however many blocks begin and never
 * end.
 */
export function pemBlocks(text: string): readonly PemBlock[] {
  const out: PemBlock[] = [];
  let end = 0;
  for (let at = text.indexOf(BEGIN); at >= 0; at = text.indexOf(BEGIN, at)) {
    at += BEGIN.length;
    const typeEnd = text.indexOf(DASHES, at);
    if (typeEnd < 0) break;
    const type = text.slice(at, typeEnd);
    if (/[-\n]/.test(type)) continue;
    at = typeEnd + DASHES.length;
    if (end < at) end = text.indexOf(END, at);
    if (end < 0) break;
    const isWhole = text.startsWith(`${type}${DASHES}`, end + END.length);
    if (!isWhole) continue;
    out.push({ type, body: text.slice(at, end) });
    at = end + END.length;
  }
  return out;
}
