import type { Service } from '@holdfast/platform';
import type { SettingSpec } from '@holdfast/platform/config';
import type { Store } from '@holdfast/store';
import type { HealthCheck } from '../endpoints/health.ts';

export const ENCRYPTION_SETTING = {
  kind: 'file',
  help: 'EncryptionConfiguration with the encrypted resources and their keys; absent = no encryption',
} as const satisfies SettingSpec;

export interface Encryption {
  /** Wraps a store: what is written to it is encrypted. */
  readonly around: (store: Store) => Store;
  /** They start before the API server reads the store. */
  readonly services: readonly Service[];
  readonly checks: readonly HealthCheck[];
}

export const NO_ENCRYPTION: Encryption = { around: (store) => store, services: [], checks: [] };
