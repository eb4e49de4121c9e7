// One module as the helper sends it: a header of fixed length, then its text.
export const HEADER_BYTES = 512;

/** Latin-1 text takes half the memory, so it is marked. An empty `file` ends the stream. */
export function encodeRecord(file, text) {
  const encoding = /[^\0-\xff]/.test(text) ? 'utf8' : 'latin1';
  const body = Buffer.from(text, encoding);
  const header = Buffer.alloc(HEADER_BYTES, ' ');
  header.write(JSON.stringify({ file, bytes: body.length, encoding }));
  return Buffer.concat([header, body]);
}

export const decodeHeader = (header) => JSON.parse(header.toString('utf8'));
