import type { User } from '../authentication/identity.ts';

const USER = 'x-remote-user';
const GROUP = 'x-remote-group';
const EXTRA_PREFIX = 'x-remote-extra-';

/** How API servers behind this one read these headers, as the ConfigMap `extension-apiserver-authentication` tells them. */
export const REQUEST_HEADER_NAMES = {
  'requestheader-username-headers': '["X-Remote-User"]',
  'requestheader-group-headers': '["X-Remote-Group"]',
  'requestheader-extra-headers-prefix': '["X-Remote-Extra-"]',
} as const;

/** What a client says of this kind is its own word, and goes no further. */
export const isIdentityHeader = (name: string): boolean =>
  name === USER || name === GROUP || name === 'x-remote-uid' || name.startsWith(EXTRA_PREFIX);

/** Who asks, as the server behind this one is told. */
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

/** Names of headers hold few characters; the others are told by their bytes. */
function escapedKey(key: string): string {
  return Array.from(Buffer.from(key.toLowerCase(), 'utf8'), (byte) => {
    const char = String.fromCharCode(byte);
    return LEGAL.test(char) ? char : `%${byte.toString(16).padStart(2, '0')}`;
  }).join('');
}
