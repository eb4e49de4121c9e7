import { randomBytes } from 'node:crypto';
import { OperatorError } from '@holdfast/platform';

const SECRET_BYTES = 24;

/** Passwords by name. Existing ones stay, so that running servers and clients still agree. */
export function completeSecrets(kept: string | undefined, names: readonly string[]): Readonly<Record<string, string>> {
  const known = kept === undefined ? {} : parsed(kept);
  const before = new Map(Object.entries(typeof known === 'object' && known !== null ? known : {}));
  return Object.fromEntries(
    names.map((name): [string, string] => {
      const secret = before.get(name);
      return [name, typeof secret === 'string' ? secret : randomBytes(SECRET_BYTES).toString('base64url')];
    }),
  );
}

/** Never replaced silently: running servers know the old ones. The parser's error would reveal a part of them. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new OperatorError({
      code: 'DataDirectoryDamaged',
      message: 'secrets/passwords.json of the state directory is damaged: it is not JSON',
      nextStep: 'Restore it from a backup, or remove it and restart all containers.',
    });
  }
}
