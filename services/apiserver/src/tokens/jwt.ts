import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { OperatorError } from '@holdfast/platform';

export type Claims = Readonly<Record<string, unknown>>;

export type JsonWebKey = Readonly<Record<string, unknown>>;

/** Signs JSON Web Tokens with one key, RSA (RS256) or P-256 (ES256), and checks those of this and of further keys. */
export interface TokenSigner {
  sign(claims: Claims): string;
  /** The claims of a token that one of the keys signed; `undefined` for any other text. Says nothing about their content. */
  verify(token: string): Claims | undefined;
  /** Public halves; the first one is of the key that signs. */
  readonly jwks: readonly JsonWebKey[];
}

/** `furtherKeysPem`: keys of other signers, one block after another, of which the public halves are used. */
export function createTokenSigner(privateKeyPem: string, furtherKeysPem = ''): TokenSigner {
  const key = readPrivateKey(privateKeyPem);
  const own = verifierOf(createPublicKey(key));
  const all = [own, ...readPublicKeys(furtherKeysPem).map(verifierOf)];
  const byHeader = new Map(all.map((each) => [each.header, each]));
  return {
    sign: (claims) => {
      const text = `${own.header}.${encodePart(claims)}`;
      return `${text}.${sign('sha256', Buffer.from(text), signatureKey(key)).toString('base64url')}`;
    },
    verify: (token) => {
      const [head = '', payload = '', signature = '', ...rest] = token.split('.');
      const verifier = byHeader.get(head);
      if (rest.length > 0 || verifier === undefined) return undefined;
      const good = verify(
        'sha256',
        Buffer.from(`${head}.${payload}`),
        signatureKey(verifier.key),
        Buffer.from(signature, 'base64url'),
      );
      return good ? decodePart(payload) : undefined;
    },
    jwks: [...byHeader.values()].map(({ jwk }) => jwk),
  };
}

interface Verifier {
  readonly key: KeyObject;
  /** Of every token that the key signs: it names the key and the algorithm. */
  readonly header: string;
  readonly jwk: JsonWebKey;
}

function verifierOf(key: KeyObject): Verifier {
  const alg = key.asymmetricKeyType === 'rsa' ? 'RS256' : 'ES256';
  const kid = createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest('base64url');
  return { key, header: encodePart({ alg, kid }), jwk: { use: 'sig', kid, alg, ...key.export({ format: 'jwk' }) } };
}

/** JOSE wants the two numbers of an ECDSA signature side by side, not in DER; RSA ignores it. */
const signatureKey = (key: KeyObject): { key: KeyObject; dsaEncoding: 'ieee-p1363' } => ({
  key,
  dsaEncoding: 'ieee-p1363',
});

function readPrivateKey(pem: string): KeyObject {
  return readKey(() => createPrivateKey(pem), {
    message: 'The key for service account tokens is not an RSA or P-256 private key in PEM.',
    nextStep: 'Make one with: openssl ecparam -genkey -name prime256v1 -noout',
  });
}

const PEM_BLOCK = /-----BEGIN ([^-]+)-----[^-]+-----END \1-----/g;

function readPublicKeys(pem: string): readonly KeyObject[] {
  if (pem === '') return [];
  const flaw = {
    message: 'The further keys for service account tokens are not RSA or P-256 keys in PEM.',
    nextStep: 'Correct the file of --service-account-verification-key-file.',
  };
  // A damaged block is a key that somebody counts on.
  const isWhole = !pem.replaceAll(PEM_BLOCK, '').includes('-----');
  const blocks = (isWhole ? pem.match(PEM_BLOCK) : null) ?? [''];
  const keys = blocks.filter((block) => !block.startsWith('-----BEGIN EC PARAMETERS'));
  return keys.map((block) => readKey(() => createPublicKey(block), flaw));
}

function readKey(read: () => KeyObject, flaw: { readonly message: string; readonly nextStep: string }): KeyObject {
  const fail = (cause?: unknown): OperatorError => new OperatorError({ code: 'SERVICE_ACCOUNT_KEY', ...flaw, cause });
  try {
    const key = read();
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
