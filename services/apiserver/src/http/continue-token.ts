import { badRequest } from '@holdfast/machinery';
import type { StoreKey } from '@holdfast/store';

/** The start of a list's next page, and its state. Opaque to clients. */
export interface ContinueToken {
  /** Or `LATEST`. */
  readonly revision: number;
  readonly after: StoreKey;
  /** The time of the first page's request, in milliseconds since 1970: the state is available for a limited time. */
  readonly since: number;
}

/** Instead of a revision: continue with the current state. */
export const LATEST = -1;

const VERSION = 'meta.k8s.io/v1';

export function encodeContinue(token: ContinueToken): string {
  const text = JSON.stringify({ v: VERSION, rv: token.revision, start: token.after, at: token.since });
  return Buffer.from(text).toString('base64url');
}

export function decodeContinue(text: string): ContinueToken {
  const token = parseToken(text);
  const { rv, start, at = 0 } = token;
  if (token.v !== VERSION) {
    throw unknownVersion(token);
  }
  if (rv === 0 || rv === undefined) throw invalidToken(`incorrect encoded start resourceVersion (version ${VERSION})`);
  if (start === '' || start === undefined) throw invalidToken(`encoded start key empty (version ${VERSION})`);
  if (typeof rv !== 'number' || !Number.isSafeInteger(rv) || typeof start !== 'string' || typeof at !== 'number') {
    throw unknownVersion(token);
  }
  return { revision: rv, after: start, since: at };
}

interface RawToken {
  readonly v?: unknown;
  readonly rv?: unknown;
  readonly start?: unknown;
  readonly at?: unknown;
}

function parseToken(text: string): RawToken {
  const illegal = illegalByte(text);
  if (illegal !== undefined) throw invalidToken(`illegal base64 data at input byte ${illegal}`);
  const json = Buffer.from(text, 'base64url').toString('latin1');
  try {
    const value: unknown = JSON.parse(Buffer.from(json, 'latin1').toString());
    if (typeof value === 'object' && value !== null) return value;
  } catch {
    if (json === '') throw invalidToken('unexpected end of JSON input');
    throw invalidToken(`invalid character ${quoteGo(json.charAt(0))} looking for beginning of value`);
  }
  throw unknownVersion({});
}

/** Returns the first character that is not URL-safe base64; Go ignores line breaks. */
function illegalByte(text: string): number | undefined {
  const wrong = /[^\w\r\n-]/.exec(text);
  if (wrong !== null) return wrong.index;
  return text.replace(/[\r\n]/g, '').length % 4 === 1 ? text.length - 1 : undefined;
}

function quoteGo(char: string): string {
  const code = char.charCodeAt(0);
  return code >= 0x20 && code < 0x7f ? `'${char}'` : `'\\u${code.toString(16).padStart(4, '0')}'`;
}

const unknownVersion = ({ v = '' }: RawToken): Error =>
  invalidToken(`server does not recognize this encoded version ${String(v)}`);

const invalidToken = (why: string): Error => badRequest(`invalid continue token: continue key is not valid: ${why}`);
