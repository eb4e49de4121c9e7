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
    help: 'schedulerName of the default profile, without a file',
    default: 'default-scheduler',
  },
  'leader-elect': { kind: 'boolean', help: 'only one of several schedulers works at a time' },
  'feature-gates': FEATURE_GATES_SETTING,
  'status-address': {
    kind: 'string',
    help: 'host:port of /healthz and /readyz for everyone, /metrics and /debug/cache for authorized callers',
  },
  'status-tls-cert-file': { kind: 'file', help: 'PEM file with the certificate of the status address' },
  'status-tls-key-file': {
    kind: 'file',
    help: 'PEM file with its key; without both: HTTP on loopback only',
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
