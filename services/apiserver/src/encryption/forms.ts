import type { SealedReader, StoreKey, WriteOperation } from '@holdfast/store';
import type { SealingKey } from './providers.ts';

/** How the values of one key, or of one KMS provider, are written behind their prefix. */
export interface SealedForm {
  readonly name: string;
  /** Throws when it may not encrypt now. */
  seal(plain: Buffer, at: StoreKey, kind: WriteOperation['kind']): string;
  /** Throws when the value cannot be decrypted. */
  open(text: string, at: StoreKey): { readonly bytes: Buffer; readonly isStale: boolean };
  /** See `Sealer`. */
  prepare?(texts: readonly string[], reader: SealedReader): Promise<void> | undefined;
  onReady?(listener: () => void): void;
}

/** The form of a key from the configuration. */
export const inBase64 = (key: SealingKey): SealedForm => ({
  name: key.name,
  seal: (plain, at) => key.seal(plain, at).toString('base64'),
  open: (text, at) => ({ bytes: key.open(Buffer.from(text, 'base64'), at), isStale: false }),
});
