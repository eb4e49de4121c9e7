import { generateKeyPair } from 'node:crypto';
import { promisify } from 'node:util';
import { createTokenSigner, type TokenSigner } from '@holdfast/apiserver';
import { createAuthority } from '@holdfast/pki/cluster-pki';
import type { ClusterKeys } from './state.ts';

const generate = promisify(generateKeyPair);

/** Each cluster has an authority of its own: no credential of one is valid in another. */
export async function createKeys(nowMs: number): Promise<ClusterKeys> {
  const [pki, { privateKey }] = await Promise.all([createAuthority(nowMs), generate('ec', { namedCurve: 'P-256' })]);
  return { pki, serviceAccountKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() };
}

const signers = new WeakMap<ClusterKeys, TokenSigner>();

/** Signs the tokens of service accounts. A cluster and its forks share it. */
export function tokenSignerOf(keys: ClusterKeys): TokenSigner {
  const known = signers.get(keys);
  if (known !== undefined) return known;
  const made = createTokenSigner(keys.serviceAccountKey);
  signers.set(keys, made);
  return made;
}
