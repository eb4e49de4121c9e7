import { COMPONENT_SETTINGS } from '@holdfast/client/component-config';
import { NODE_MONITOR_GRACE_SETTING } from '@holdfast/client/node-monitor-grace';
import type { LogLevel } from '@holdfast/platform';
import { readSettings, type SettingSource, type SettingSpecs, type Settings } from '@holdfast/platform/config';

export const FENCER_SETTINGS = {
  ...COMPONENT_SETTINGS,
  config: { kind: 'file', help: 'file (YAML or JSON) with the fencing rules and agents' },
  'node-monitor-grace-seconds': {
    ...NODE_MONITOR_GRACE_SETTING,
    help: 'setting of the controller manager; part of the published bound of a fence',
  },
  identity: {
    kind: 'string',
    help: 'name of this fencer; a restart under the same name continues its fences immediately',
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
