import { LOG_LEVEL_SETTING, type LogLevel } from '@holdfast/platform';
import { readSettings, type SettingSource, type SettingSpecs, type Settings } from '@holdfast/platform/config';
import { HEALTH_SETTING } from '@holdfast/platform/health-server';

export const CONSOLE_SETTINGS = {
  'api-servers': { kind: 'list', help: 'addresses of the API servers, https://host:port' },
  'ca-file': { kind: 'file', help: 'PEM file of the authority that signed the API servers' },
  'scheduler-status': { kind: 'string', help: 'status address of the scheduler, https://host:port: why pods wait' },
  host: { kind: 'string', help: 'address to listen on', default: '127.0.0.1' },
  port: { kind: 'integer', help: 'port to listen on; 0 takes a free one', default: 6480, min: 0, max: 65_535 },
  'tls-cert-file': { kind: 'file', help: 'PEM certificate of the console' },
  'tls-key-file': { kind: 'file', help: 'PEM key of that certificate' },
  'health-address': HEALTH_SETTING,
  'log-level': LOG_LEVEL_SETTING,
  help: { kind: 'boolean', help: 'print this list' },
} as const satisfies SettingSpecs;

export interface ConsoleConfig {
  readonly settings: Settings<typeof CONSOLE_SETTINGS>;
  readonly logLevel: LogLevel;
}

/** Returns `undefined` for `--help`. */
export function readConsoleConfig(source: SettingSource): ConsoleConfig | undefined {
  const settings = readSettings(CONSOLE_SETTINGS, source);
  return settings.help ? undefined : { settings, logLevel: settings['log-level'] };
}
