import type { MetricRegistry, Service } from '@holdfast/platform';
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
  readonly keys: KeyServices;
}

/** What the API server shows of the services that hold the keys. */
export interface KeyServices {
  readonly checks: readonly HealthCheck[];
  readonly registerMetrics: (registry: MetricRegistry) => void;
}

export const NO_KEY_SERVICES: KeyServices = { checks: [], registerMetrics: () => {} };
export const NO_ENCRYPTION: Encryption = { around: (store) => store, services: [], keys: NO_KEY_SERVICES };
