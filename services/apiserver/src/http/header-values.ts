/**
 * Headers that may come several times and cannot be told in one line, because a comma may be part of a value: cookies of programs
 * behind a proxy, and whom a client wants to act as. Inside of this server they are one text, parted by what no header can hold.
 */
export const joinValues = (values: readonly string[]): string => values.join(VALUE_END);

export const valuesOf = (text: string): string[] => text.split(VALUE_END);

/** What the client is sent. */
export const partsOf = (name: string, text: string): string | string[] =>
  name === 'set-cookie' ? valuesOf(text) : text;

/** Begins each header that says whom a client wants to act as. */
export const IMPERSONATE = 'impersonate-';

const VALUE_END = '\n';
