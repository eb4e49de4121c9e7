import type { SettingSpec } from '@holdfast/platform/config';

export const ALLOW_PRIVILEGED_SETTING = {
  kind: 'boolean',
  help: 'Accept privileged containers, in pods and in pod templates',
  default: true,
} as const satisfies SettingSpec;
