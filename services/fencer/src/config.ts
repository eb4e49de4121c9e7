import { COMPONENT_SETTINGS } from '@holdfast/client/component-config';
import { NODE_MONITOR_GRACE_SETTING } from '@holdfast/client/node-monitor-grace';
import type { LogLevel } from '@holdfast/platform';
import { readSettings, type SettingSource, type SettingSpecs, type Settings } from '@holdfast/platform/config';

export const FENCER_SETTINGS = {
  ...COMPONENT_SETTINGS,
  config: { kind: 'file', help: 'file (YAML or JSON) that says which nodes are fenced when, and by which agents' },
  'node-monitor-grace-seconds': {
    ...NODE_MONITOR_GRACE_SETTING,
    help: 'what the controller manager is set to; part of the bound that is published for a fence',
  },
  identity: {
    kind: 'string',
    help: 'name of this fencer: one that starts again under the same name goes on with its fences at once',
    default: 'fencer',
  },
  'status-address': { kind: 'string', help: 'host:port of this machine that serves /healthz, /readyz and /metrics' },
  help: { kind: 'boolean', help: 'print this list' },
} as const satisfies SettingSpecs;

export type FencerSettings = Settings<typeof FENCER_SETTINGS>;

export interface FencerConfig {
  readonly settings: FencerSettings;
  readonly logLevel: LogLevel;
}

/** Returns `undefined` for `--help`. */
export function readFencerConfig(source: SettingSource): FencerConfig | undefined {
  const settings = readSettings(FENCER_SETTINGS, source);
  return settings.help ? undefined : { settings, logLevel: settings['log-level'] };
}
