// One module as it travels from the helper: a header of fixed length, then its text.
export const HEADER_BYTES = 512;

/** Text of Latin-1 only is half as large in memory, so it says what it is. An empty `file` ends the file. */
export function encodeRecord(file, text) {
  const encoding = /[^\0-\xff]/.test(text) ? 'utf8' : 'latin1';
  const body = Buffer.from(text, encoding);
  const header = Buffer.alloc(HEADER_BYTES, ' ');
  header.write(JSON.stringify({ file, bytes: body.length, encoding }));
  return Buffer.concat([header, body]);
}

export const decodeHeader = (header) => JSON.parse(header.toString('utf8'));
