import type { SettingSpec } from '@holdfast/platform/config';

export const ENCRYPTION_SETTING = {
  kind: 'file',
  help: 'Which resources are encrypted in the store, and with which keys: an EncryptionConfiguration; absent = none',
} as const satisfies SettingSpec;
