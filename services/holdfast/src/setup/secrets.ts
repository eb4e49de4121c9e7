import { randomBytes } from 'node:crypto';

const SECRET_BYTES = 24;

/** Passwords by what they open; those that exist stay, so that running servers and clients go on agreeing. */
export function completeSecrets(kept: string | undefined, names: readonly string[]): Readonly<Record<string, string>> {
  const known: unknown = kept === undefined ? {} : JSON.parse(kept);
  const before = new Map(Object.entries(typeof known === 'object' && known !== null ? known : {}));
  return Object.fromEntries(
    names.map((name): [string, string] => {
      const secret = before.get(name);
      return [name, typeof secret === 'string' ? secret : randomBytes(SECRET_BYTES).toString('base64url')];
    }),
  );
}
