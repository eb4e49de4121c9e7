import type { SettingSpec } from '@holdfast/platform/config';

export const ENCRYPTION_SETTING = {
  kind: 'file',
  help: 'EncryptionConfiguration with the encrypted resources and their keys; absent = no encryption',
} as const satisfies SettingSpec;
