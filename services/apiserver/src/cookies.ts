/**
 * Cookies of programs behind a proxy: the only header that may come several times and cannot be told in one line. On the way through
 * this server they are one text, parted by what no header can hold.
 */
export const joinCookies = (cookies: readonly string[]): string => cookies.join(COOKIE_END);

/** What the client is sent. */
export const partsOf = (name: string, text: string): string | string[] =>
  name === 'set-cookie' ? text.split(COOKIE_END) : text;

const COOKIE_END = '\n';
