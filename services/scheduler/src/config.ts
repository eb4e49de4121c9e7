import { FEATURE_GATES_SETTING } from '@holdfast/api';
import { COMPONENT_SETTINGS } from '@holdfast/client/component-config';
import type { LogLevel } from '@holdfast/platform';
import { readSettings, type SettingSource, type SettingSpecs, type Settings } from '@holdfast/platform/config';

export const SCHEDULER_SETTINGS = {
  ...COMPONENT_SETTINGS,
  config: {
    kind: 'file',
    help: 'file with a KubeSchedulerConfiguration (YAML or JSON): profiles, plugins, extenders',
  },
  'scheduler-name': {
    kind: 'string',
    help: 'pods with this schedulerName are scheduled, when no file is given',
    default: 'default-scheduler',
  },
  'leader-elect': { kind: 'boolean', help: 'let only one of several schedulers work at a time' },
  'feature-gates': FEATURE_GATES_SETTING,
  'status-address': {
    kind: 'string',
    help: 'host:port that serves /healthz and /readyz to all, /metrics and /debug/cache to whom the API allows it',
  },
  'status-tls-cert-file': { kind: 'file', help: 'PEM file with the certificate of the status address' },
  'status-tls-key-file': {
    kind: 'file',
    help: 'PEM file with its key; without both it is HTTP, for this machine only',
  },
  help: { kind: 'boolean', help: 'print this list' },
} as const satisfies SettingSpecs;

export type SchedulerSettings = Settings<typeof SCHEDULER_SETTINGS>;

export interface SchedulerConfig {
  readonly settings: SchedulerSettings;
  readonly logLevel: LogLevel;
}

/** Returns `undefined` for `--help`. */
export function readSchedulerConfig(source: SettingSource): SchedulerConfig | undefined {
  const settings = readSettings(SCHEDULER_SETTINGS, source);
  return settings.help ? undefined : { settings, logLevel: settings['log-level'] };
}
