import { LOG_LEVEL_SETTING, type LogLevel } from '@holdfast/platform';
import {
  badSetting,
  readSettings,
  type SettingSource,
  type SettingSpecs,
  type Settings,
} from '@holdfast/platform/config';
import { isLoopback } from '@holdfast/platform/status-server';
import { CONNECTIONS_DEFAULT, VOLUME_MIB_DEFAULT, VOLUMES_DEFAULT } from './limits.ts';

export const STORAGE_SERVER_SETTINGS = {
  host: {
    kind: 'string',
    help: 'listen address; other addresses than loopback need tls-cert-file and tls-key-file',
    default: '127.0.0.1',
  },
  port: { kind: 'integer', help: 'port for volumes; 0 takes a free one', default: 9_440, min: 0, max: 65_535 },
  'data-dir': { kind: 'string', help: 'directory for volumes and their tokens; one server at a time uses it' },
  'key-file': {
    kind: 'file',
    help: 'master key: a text of 32 characters or more, from which the keys of volumes are computed',
  },
  'tls-cert-file': { kind: 'file', help: 'PEM certificate of this server, with its name' },
  'tls-key-file': { kind: 'file', help: 'PEM key of that certificate' },
  'volume-size-mib': {
    kind: 'integer',
    help: 'maximum size of each volume in MiB; files are sparse',
    default: VOLUME_MIB_DEFAULT,
    min: 1,
    max: 1_048_576,
  },
  'max-volumes': { kind: 'integer', help: 'maximum number of volumes', default: VOLUMES_DEFAULT, min: 1, max: 100_000 },
  'max-connections': {
    kind: 'integer',
    help: 'maximum number of connections; more are closed at once',
    default: CONNECTIONS_DEFAULT,
    min: 1,
    max: 10_000,
  },
  'status-address': { kind: 'string', help: 'host:port of this machine that serves /healthz, /readyz and /metrics' },
  'log-level': LOG_LEVEL_SETTING,
  help: { kind: 'boolean', help: 'print this list' },
} as const satisfies SettingSpecs;

export type StorageServerSettings = Settings<typeof STORAGE_SERVER_SETTINGS>;

export interface StorageServerConfig {
  readonly settings: StorageServerSettings;
  readonly logLevel: LogLevel;
}

/** Returns `undefined` for `--help`. */
export function readStorageServerConfig(source: SettingSource): StorageServerConfig | undefined {
  const settings = readSettings(STORAGE_SERVER_SETTINGS, source);
  if (settings.help) return undefined;
  refuseHalfPair(settings);
  refuseOpenAddress(settings);
  return { settings, logLevel: settings['log-level'] };
}

function refuseHalfPair(settings: StorageServerSettings): void {
  if ((settings['tls-cert-file'] === undefined) === (settings['tls-key-file'] === undefined)) return;
  throw badSetting('one of tls-cert-file and tls-key-file is missing', 'Give both, or none of them.');
}

/** Without encryption others on the way can read a proof and use it. */
function refuseOpenAddress({ host, 'tls-cert-file': certificate }: StorageServerSettings): void {
  if (certificate !== undefined || isLoopback(host)) return;
  throw badSetting(
    `the address ${host} is reachable from other machines, and without a certificate volumes and proofs would not be encrypted`,
    'Give --tls-cert-file and --tls-key-file, or a loopback address such as 127.0.0.1.',
  );
}
