import { OperatorError } from '@holdfast/platform';
import type { SettingSpecs } from '@holdfast/platform/config';
import { isLogAddress, LOG_ACCESS_SETTINGS, readLogAddresses } from '@holdfast/platform/log-address';

export const LOG_STORE_SETTINGS = {
  ...LOG_ACCESS_SETTINGS,
  'store-monitors': {
    kind: 'string',
    help: 'Monitoring addresses (http://host:8222) of the NATS servers with the log, separated by commas: there it is seen that they sync before they acknowledge',
  },
  'store-accept-old-servers': {
    kind: 'boolean',
    help: 'Accept NATS servers of a version before 2.11 for the log, although their replication has known faults',
  },
} as const satisfies SettingSpecs;

export interface LogStoreConfig {
  readonly servers: readonly string[];
  readonly monitors: readonly string[];
  readonly replicas: number;
  readonly user: string | undefined;
  readonly passwordFile: string | undefined;
  readonly acceptOldServers: boolean;
}

interface Given {
  readonly store: string;
  readonly 'store-user': string | undefined;
  readonly 'store-password-file': string | undefined;
  readonly 'store-monitors': string | undefined;
  readonly 'store-replicas': number;
  readonly 'store-accept-old-servers': boolean;
}

/** `undefined` when the store is none on NATS servers; then none of the other settings may be given. */
export function readLogStore(settings: Given): LogStoreConfig | undefined {
  const { store, 'store-user': user, 'store-password-file': passwordFile, 'store-monitors': monitors } = settings;
  if (isLogAddress(store)) {
    const urls = monitors === undefined ? [] : monitors.split(',').map(readMonitorAddress);
    const replicas = settings['store-replicas'];
    const acceptOldServers = settings['store-accept-old-servers'];
    return { servers: readLogAddresses(store), monitors: urls, replicas, user, passwordFile, acceptOldServers };
  }
  if (user === undefined && passwordFile === undefined && monitors === undefined) return undefined;
  throw badSetting(
    '--store-user, --store-password-file and --store-monitors are for a store on NATS servers',
    'Give their addresses as --store=nats://host:port,..., or leave these settings out.',
  );
}

function readMonitorAddress(text: string): string {
  const address = text.trim();
  if (/^http:\/\/[^/@\s]+\/?$/.test(address)) return address;
  throw badSetting(
    `--store-monitors takes http://host:port of each NATS server, not "${address}"`,
    'Give the address of the `http` setting in nats.conf of each server, separated by commas.',
  );
}

const badSetting = (message: string, nextStep: string): OperatorError =>
  new OperatorError({ code: 'BadSetting', message, nextStep, exitCode: 2 });

/** What a store is, and what acknowledged writes survive in it. */
export interface StoreForm {
  readonly name: 'memory' | 'redis' | 'log';
  readonly survives: string;
}

export function storeForm(config: {
  readonly redisUrl: string | undefined;
  readonly logStore: Pick<LogStoreConfig, 'replicas'> | undefined;
  readonly allowUnsafeStore: boolean;
}): StoreForm {
  const { redisUrl, logStore, allowUnsafeStore } = config;
  if (logStore === undefined && redisUrl === undefined) return { name: 'memory', survives: 'nothing' };
  const name = logStore === undefined ? 'redis' : 'log';
  if (allowUnsafeStore) return { name, survives: 'what its settings allow' };
  const losses = Math.floor(((logStore?.replicas ?? 1) - 1) / 2);
  if (losses === 0) return { name, survives: 'a power cut' };
  return { name, survives: `a power cut, and the loss of any ${losses === 1 ? 'machine' : `${losses} machines`}` };
}

export const describeForm = ({ name, survives }: StoreForm): string =>
  `${name}; acknowledged writes survive ${survives}`;
