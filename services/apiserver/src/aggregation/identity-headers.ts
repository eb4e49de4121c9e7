import type { User } from '../authentication/identity.ts';

const USER = 'x-remote-user';
const GROUP = 'x-remote-group';
const EXTRA_PREFIX = 'x-remote-extra-';

/** The header names for aggregated API servers, as published in the ConfigMap `extension-apiserver-authentication`. */
export const REQUEST_HEADER_NAMES = {
  'requestheader-username-headers': '["X-Remote-User"]',
  'requestheader-group-headers': '["X-Remote-Group"]',
  'requestheader-extra-headers-prefix': '["X-Remote-Extra-"]',
} as const;

/** Such headers from a client are untrusted and not forwarded. */
export const isIdentityHeader = (name: string): boolean =>
  name === USER || name === GROUP || name === 'x-remote-uid' || name.startsWith(EXTRA_PREFIX);

/** The headers that tell an aggregated server the user. */
export function identityHeaders({ name, groups, extra = {} }: User): Record<string, string | string[]> {
  return {
    [USER]: bytesOf(name),
    ...(groups.length === 0 ? {} : { [GROUP]: groups.map(bytesOf) }),
    ...Object.fromEntries(
      Object.entries(extra).map(([key, values]) => [`${EXTRA_PREFIX}${escapedKey(key)}`, values.map(bytesOf)]),
    ),
  };
}

/** Node writes a header one byte for each character; Go reads UTF-8. */
const bytesOf = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');

const LEGAL = /^[!#$&'*+\-.^_`|~0-9A-Za-z]$/;

/** Header names allow few characters; the others are percent-encoded. */
function escapedKey(key: string): string {
  return Array.from(Buffer.from(key.toLowerCase(), 'utf8'), (byte) => {
    const char = String.fromCharCode(byte);
    return LEGAL.test(char) ? char : `%${byte.toString(16).padStart(2, '0')}`;
  }).join('');
}
