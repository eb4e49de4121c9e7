import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { OperatorError } from '@holdfast/platform';

export type Claims = Readonly<Record<string, unknown>>;

/** Signs and checks JSON Web Tokens with one key: RSA (RS256) or P-256 (ES256). */
export interface TokenSigner {
  sign(claims: Claims): string;
  /** The claims of a token that this key signed; `undefined` for any other text. Says nothing about their content. */
  verify(token: string): Claims | undefined;
  /** Public half, as JSON Web Key. */
  readonly jwk: Readonly<Record<string, unknown>>;
}

export function createTokenSigner(privateKeyPem: string): TokenSigner {
  const key = readKey(privateKeyPem);
  const publicKey = createPublicKey(key);
  const algorithm = key.asymmetricKeyType === 'rsa' ? 'RS256' : 'ES256';
  const kid = createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('base64url');
  const header = encodePart({ alg: algorithm, kid });
  return {
    sign: (claims) => {
      const text = `${header}.${encodePart(claims)}`;
      return `${text}.${sign('sha256', Buffer.from(text), signatureKey(key)).toString('base64url')}`;
    },
    verify: (token) => {
      const [head = '', payload = '', signature = '', ...rest] = token.split('.');
      if (rest.length > 0 || head !== header) return undefined;
      const good = verify(
        'sha256',
        Buffer.from(`${head}.${payload}`),
        signatureKey(publicKey),
        Buffer.from(signature, 'base64url'),
      );
      return good ? decodePart(payload) : undefined;
    },
    jwk: { use: 'sig', kid, alg: algorithm, ...publicKey.export({ format: 'jwk' }) },
  };
}

/** JOSE wants the two numbers of an ECDSA signature side by side, not in DER; RSA ignores it. */
const signatureKey = (key: KeyObject): { key: KeyObject; dsaEncoding: 'ieee-p1363' } => ({
  key,
  dsaEncoding: 'ieee-p1363',
});

function readKey(pem: string): KeyObject {
  const fail = (cause?: unknown): OperatorError =>
    new OperatorError({
      code: 'SERVICE_ACCOUNT_KEY',
      message: 'The key for service account tokens is not an RSA or P-256 private key in PEM.',
      nextStep: 'Make one with: openssl ecparam -genkey -name prime256v1 -noout',
      cause,
    });
  try {
    const key = createPrivateKey(pem);
    const curve = key.asymmetricKeyDetails?.namedCurve;
    if (key.asymmetricKeyType === 'rsa' || (key.asymmetricKeyType === 'ec' && curve === 'prime256v1')) return key;
  } catch (error) {
    throw fail(error);
  }
  throw fail();
}

const encodePart = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

function decodePart(text: string): Claims | undefined {
  const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
  return typeof value === 'object' && value !== null ? { ...value } : undefined;
}
