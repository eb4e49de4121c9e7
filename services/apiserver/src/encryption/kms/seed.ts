import { createHmac } from 'node:crypto';
import { secureBytes } from '@holdfast/platform';
import { aesGcm } from '../providers.ts';
import type { EncryptedSeed } from './plugin.ts';
import { encodeFields, WireFields } from './wire.ts';

export const SEED_BYTES = 32;
const INFO_BYTES = 32;
/** Names how the encrypted source is used: a seed from which the key of each object is derived. */
const SEED_TYPE = 'HKDF_SHA256_XNONCE_AES_GCM_SEED';

/** HKDF-SHA256, its expansion only: the seed is random, so it needs no extraction. One block is one key. */
const derivedKey = (seed: Buffer, info: Buffer): Buffer =>
  createHmac('sha256', seed)
    .update(info)
    .update(Buffer.from([1]))
    .digest();

/** Seals with a key of its own: the seed and random bytes, which come first in the result. */
export function sealWithSeed(seed: Buffer, plain: Buffer, context: string): Buffer {
  const info = secureBytes(INFO_BYTES);
  return Buffer.concat([info, aesGcm('', derivedKey(seed, info)).seal(plain, context)]);
}

/** Throws when the seed does not fit or the bytes were changed. */
export function openWithSeed(seed: Buffer, sealed: Buffer, context: string): Buffer {
  const key = derivedKey(seed, sealed.subarray(0, INFO_BYTES));
  return aesGcm('', key).open(sealed.subarray(INFO_BYTES), context);
}

/** The encrypted seed as text. All objects of one seed have the same. */
export function encodeSource({ ciphertext, keyId, annotations }: EncryptedSeed): string {
  return encodeFields([
    [1, ciphertext],
    [2, keyId],
    [3, annotations],
    [4, SEED_TYPE],
  ]).toString('base64');
}

/** Throws when the text is not an encrypted seed. */
export function decodeSource(source: string): EncryptedSeed {
  const fields = new WireFields(Buffer.from(source, 'base64'));
  if (fields.text(4) !== SEED_TYPE) throw new Error('the stored value has no known kind of key');
  return { ciphertext: fields.bytes(1), keyId: fields.text(2), annotations: fields.map(3) };
}
