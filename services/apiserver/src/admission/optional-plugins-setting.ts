import type { SettingSpec } from '@holdfast/platform/config';

/** Plugins that Kubernetes 1.32 leaves off by default. */
const OPTIONAL_PLUGINS = ['DenyServiceExternalIPs'] as const;

export type OptionalPlugin = (typeof OPTIONAL_PLUGINS)[number];

export const OPTIONAL_PLUGINS_SETTING = {
  kind: 'list',
  values: OPTIONAL_PLUGINS,
  help: 'Admission plugins to enable beside those that are always on',
  default: [],
} as const satisfies SettingSpec;
