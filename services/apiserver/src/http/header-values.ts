/**
 * Headers that may repeat and cannot be joined by commas, because values may contain one: cookies behind a proxy, and
 * impersonation. Inside this server they are one string with a separator that no header can contain.
 */
export const joinValues = (values: readonly string[]): string => values.join(VALUE_END);

export const valuesOf = (text: string): string[] => text.split(VALUE_END);

/** The form for the client. */
export const partsOf = (name: string, text: string): string | string[] =>
  name === 'set-cookie' ? valuesOf(text) : text;

/** The prefix of impersonation headers. */
export const IMPERSONATE = 'impersonate-';

const VALUE_END = '\n';
