import { readFileSync } from 'node:fs';
import type { SettingSpecs, Settings } from './config.ts';
import { OperatorError } from './errors.ts';

/**
 * How a client authenticates a server and, when the server requires it, itself. PEM texts with the names of `node:tls`.
 */
export interface TlsClient {
  /** Default: the authorities that Node trusts. */
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

export const STORE_TLS_SETTINGS = {
  'store-ca-file': {
    kind: 'file',
    help: 'PEM of the authority that signed the certificate of a rediss:// or tls:// server',
  },
  'store-cert-file': {
    kind: 'file',
    help: 'PEM client certificate for the store, if it requires one',
  },
  'store-key-file': { kind: 'file', help: 'PEM key of that certificate' },
} as const satisfies SettingSpecs;

export const BUS_TLS_SETTINGS = {
  'bus-ca-file': { kind: 'file', help: 'PEM of the authority that signed the certificates of tls:// servers' },
  'bus-cert-file': { kind: 'file', help: 'PEM client certificate for NATS, if it requires one' },
  'bus-key-file': { kind: 'file', help: 'PEM key of that certificate' },
} as const satisfies SettingSpecs;

/** Returns `undefined` when no file is named. Naming a file requires TLS: an address without TLS is then refused. */
export function readStoreTls(
  settings: Settings<typeof STORE_TLS_SETTINGS> & { readonly store: string | undefined },
): TlsClient | undefined {
  const tls = readTls('store', {
    ca: settings['store-ca-file'],
    cert: settings['store-cert-file'],
    key: settings['store-key-file'],
  });
  if (tls === undefined || /^(rediss|tls):\/\//.test(settings.store ?? '')) return tls;
  throw new OperatorError({
    code: 'BadSetting',
    message: '--store-ca-file, --store-cert-file and --store-key-file need a store that uses TLS',
    nextStep: 'Give its address as --store=rediss://host:port (NATS: tls://host:port), or name none of these files.',
    exitCode: 2,
  });
}

/** Returns `undefined` when no file is named. */
export function readBusTls(settings: Settings<typeof BUS_TLS_SETTINGS>): TlsClient | undefined {
  return readTls('bus', {
    ca: settings['bus-ca-file'],
    cert: settings['bus-cert-file'],
    key: settings['bus-key-file'],
  });
}

function readTls(
  of: string,
  files: { readonly [part in keyof Required<TlsClient>]: string | undefined },
): TlsClient | undefined {
  if ((files.cert === undefined) !== (files.key === undefined)) {
    throw new OperatorError({
      code: 'BadSetting',
      message: `--${of}-cert-file and --${of}-key-file go together`,
      nextStep: 'Name both files, or none of them.',
      exitCode: 2,
    });
  }
  const named = Object.entries(files).flatMap(([part, file]) => (file === undefined ? [] : [[part, file] as const]));
  if (named.length === 0) return undefined;
  return Object.fromEntries(named.map(([part, file]) => [part, readPem(`${of}-${part}-file`, file)]));
}

function readPem(setting: string, file: string): string {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    throw new OperatorError({
      code: 'FILE',
      message: `The file of --${setting}, ${file}, cannot be read.`,
      nextStep: 'Check the path and the permissions of the file.',
      cause,
      exitCode: 2,
    });
  }
  if (text.includes('-----BEGIN ')) return text;
  throw new OperatorError({
    code: 'FILE',
    message: `The file of --${setting}, ${file}, is not PEM.`,
    nextStep: 'Name a file that begins with -----BEGIN.',
    exitCode: 2,
  });
}

/** Causes by the codes and messages of Node, OpenSSL, Redis and NATS. */
const CAUSES: readonly (readonly [RegExp, (of: string) => string])[] = [
  [
    /SELF_SIGNED_CERT|UNABLE_TO_(?:VERIFY|GET_ISSUER)|self-signed certificate|unable to (?:verify|get)/,
    (of) => `the server's certificate is signed by another authority: name that authority with --${of}-ca-file`,
  ],
  [
    /ERR_TLS_CERT_ALTNAME_INVALID/,
    () => "the server's certificate is for other names: use a name that it holds, or give the server one for this name",
  ],
  [/CERT_HAS_EXPIRED/, () => "the server's certificate has expired: renew it"],
  [
    /certificate.required|HANDSHAKE_FAILURE|handshake failure|bad certificate|unknown.ca|UNKNOWN_CA/i,
    (of) =>
      `the server refuses this client's certificate: name one that it trusts with --${of}-cert-file and --${of}-key-file`,
  ],
  [
    /WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|wrong version number|packet length too long|SERVER_OPT_NA|before secure TLS/,
    () => 'the server does not speak TLS: give it a certificate, or use its address without TLS',
  ],
  [
    /WRONGPASS|NOAUTH|AUTHORIZATION_VIOLATION|Authorization Violation|AUTHENTICATION_/,
    () => 'user or password is wrong',
  ],
];

/** Explains to operators why a server of the store or the bus is unusable; `undefined` when the error text suffices. */
export function explainConnection(of: 'store' | 'bus', error: unknown): string | undefined {
  const text = chainOf(error)
    .map((each) => `${property(each, 'code')} ${property(each, 'message')}`)
    .join('\n');
  return CAUSES.find(([pattern]) => pattern.test(text))?.[1](of);
}

function chainOf(error: unknown): readonly unknown[] {
  const chain: unknown[] = [];
  for (let each = error; typeof each === 'object' && each !== null && chain.length < MAX_CAUSES; ) {
    chain.push(each);
    each = Reflect.get(each, 'cause') ?? Reflect.get(each, 'chainedError');
  }
  return chain;
}

const MAX_CAUSES = 10;

const property = (value: unknown, name: string): string =>
  typeof value === 'object' && value !== null ? String(Reflect.get(value, name) ?? '') : '';
