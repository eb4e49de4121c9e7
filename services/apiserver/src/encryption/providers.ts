import {
  type CipherGCMTypes,
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  timingSafeEqual,
} from 'node:crypto';
import { secureBytes } from '@holdfast/platform';
import { xsalsa20poly1305 } from '@noble/ciphers/salsa.js';

/**
 * Seals and opens bytes with one key. `context` is the key of the object in the store: what was sealed for one object does not open as
 * another.
 */
export interface SealingKey {
  readonly name: string;
  readonly seal: (plain: Buffer, context: string) => Buffer;
  /** Throws when the key does not fit or the bytes were changed. */
  readonly open: (sealed: Buffer, context: string) => Buffer;
}

export interface ProviderKind {
  readonly name: 'aescbc' | 'aesgcm' | 'secretbox';
  /** Bytes that a key may have. */
  readonly lengths: readonly number[];
  readonly keyOf: (name: string, secret: Buffer) => SealingKey;
}

const AES_LENGTHS = [16, 24, 32];

export const PROVIDER_KINDS: readonly ProviderKind[] = [
  { name: 'aescbc', lengths: AES_LENGTHS, keyOf: aesCbc },
  { name: 'aesgcm', lengths: AES_LENGTHS, keyOf: aesGcm },
  { name: 'secretbox', lengths: [32], keyOf: secretBox },
];

const DOES_NOT_FIT = 'the key does not fit, or the data were changed';

const IV_BYTES = 16;
const MAC_BYTES = 32;

/** CBC does not authenticate, so a MAC over the context, the vector and the text follows. */
function aesCbc(name: string, secret: Buffer): SealingKey {
  const algorithm = `aes-${secret.length * 8}-cbc`;
  const macKey = createHmac('sha256', secret).update('holdfast aescbc authentication').digest();
  const mac = (bytes: Buffer, context: string): Buffer =>
    createHmac('sha256', macKey).update(`${context}\0`).update(bytes).digest();
  return {
    name,
    seal: (plain, context) => {
      const iv = secureBytes(IV_BYTES);
      const cipher = createCipheriv(algorithm, secret, iv);
      const text = Buffer.concat([iv, cipher.update(plain), cipher.final()]);
      return Buffer.concat([text, mac(text, context)]);
    },
    open: (sealed, context) => {
      const end = sealed.length - MAC_BYTES;
      if (end < IV_BYTES) throw new Error(DOES_NOT_FIT);
      const text = sealed.subarray(0, end);
      if (!timingSafeEqual(mac(text, context), sealed.subarray(end))) throw new Error(DOES_NOT_FIT);
      const decipher = createDecipheriv(algorithm, secret, text.subarray(0, IV_BYTES));
      return Buffer.concat([decipher.update(text.subarray(IV_BYTES)), decipher.final()]);
    },
  };
}

const GCM_NONCE_BYTES = 12;
const GCM_TAG_BYTES = 16;

export function aesGcm(name: string, secret: Buffer): SealingKey {
  const algorithm = `aes-${secret.length * 8}-gcm` as CipherGCMTypes;
  const options = { authTagLength: GCM_TAG_BYTES };
  return {
    name,
    seal: (plain, context) => {
      const nonce = secureBytes(GCM_NONCE_BYTES);
      const cipher = createCipheriv(algorithm, secret, nonce, options).setAAD(Buffer.from(context));
      return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
    },
    open: (sealed, context) => {
      const end = sealed.length - GCM_TAG_BYTES;
      if (end < GCM_NONCE_BYTES) throw new Error(DOES_NOT_FIT);
      const decipher = createDecipheriv(algorithm, secret, sealed.subarray(0, GCM_NONCE_BYTES), options);
      decipher.setAAD(Buffer.from(context)).setAuthTag(sealed.subarray(end));
      try {
        return Buffer.concat([decipher.update(sealed.subarray(GCM_NONCE_BYTES, end)), decipher.final()]);
      } catch (error) {
        throw new Error(DOES_NOT_FIT, { cause: error });
      }
    },
  };
}

const BOX_NONCE_BYTES = 24;
const CONTEXT_BYTES = 32;

/** XSalsa20 and Poly1305. It authenticates nothing beside the text, so the text begins with a hash of the context. */
function secretBox(name: string, secret: Buffer): SealingKey {
  const hashOf = (context: string): Buffer => createHash('sha256').update(context).digest();
  return {
    name,
    seal: (plain, context) => {
      const nonce = secureBytes(BOX_NONCE_BYTES);
      const sealed = xsalsa20poly1305(secret, nonce).encrypt(Buffer.concat([hashOf(context), plain]));
      return Buffer.concat([nonce, sealed]);
    },
    open: (sealed, context) => {
      const text = opened(secret, sealed);
      if (!hashOf(context).equals(text.subarray(0, CONTEXT_BYTES))) throw new Error(DOES_NOT_FIT);
      return text.subarray(CONTEXT_BYTES);
    },
  };
}

function opened(secret: Buffer, sealed: Buffer): Buffer {
  try {
    const box = xsalsa20poly1305(secret, sealed.subarray(0, BOX_NONCE_BYTES));
    return Buffer.from(box.decrypt(sealed.subarray(BOX_NONCE_BYTES)));
  } catch (error) {
    throw new Error(DOES_NOT_FIT, { cause: error });
  }
}
