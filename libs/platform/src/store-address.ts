import { OperatorError } from './errors.ts';

/** Validates the address of a Redis in `--store`. Throws an OperatorError that names the accepted forms. */
export function readStoreAddress(text: string, forms: string): string {
  if (/^rediss?:\/\/[^/]/.test(text) && isReadable(text)) return text;
  throw new OperatorError({
    code: 'BadSetting',
    message: `--store takes ${forms}, not "${withoutCredentials(text)}"`,
    nextStep:
      'Give the address of the Redis that holds the cluster; percent-encode special characters (such as / ? # %) in its password.',
    exitCode: 2,
  });
}

function isReadable(address: string): boolean {
  try {
    const { username, password } = new URL(address);
    decodeURIComponent(username + password);
    return true;
  } catch {
    return false;
  }
}

/**
 * Removes credentials from an address, also from an invalid URL: passwords stand before its last `@` or after its `?`.
 */
export function withoutCredentials(address: string): string {
  return address.replace(/^([a-z]+:\/\/)?.*@/is, '$1').replace(/\?.*$/s, '');
}
