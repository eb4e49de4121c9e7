import type { SettingSpec } from '@holdfast/platform/config';

export const DEFAULT_STORAGE_CLASS_SETTING = {
  kind: 'enum',
  values: ['standard', 'none'],
  help: 'Default storage class that a new cluster gets; standard: volumes are directories of the nodes',
  default: 'standard',
} as const satisfies SettingSpec;
