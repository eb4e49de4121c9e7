import { OperatorError } from '@holdfast/platform';
import { readSettings, type SettingSource, type SettingSpecs } from '@holdfast/platform/config';

export const SETUP_SETTINGS = {
  'state-dir': {
    kind: 'string',
    help: 'directory for certificates, credentials and configurations',
    default: '/state',
  },
  'api-servers': {
    kind: 'list',
    help: 'host names of the API servers',
    default: ['apiserver-1', 'apiserver-2'],
  },
  'store-servers': {
    kind: 'list',
    help: 'host names of the NATS servers that hold the store as a log; absent = Redis',
    default: [],
  },
  nodes: { kind: 'list', help: 'names of the nodes', default: ['node-1', 'node-2', 'node-3'] },
  'api-ports': {
    kind: 'list',
    help: 'ports of the API servers on this machine, for the kubeconfig',
    default: ['7443', '7444'],
  },
  'console-port': {
    kind: 'integer',
    help: 'port of the console on this machine, for the kubeconfig',
    default: 6480,
    min: 1,
    max: 65_535,
  },
  'component-uid': { kind: 'integer', help: 'user that the components run as', default: 1000, min: 0 },
  'redis-uid': { kind: 'integer', help: 'user that Redis runs as', default: 999, min: 0 },
  'owner-of': { kind: 'string', help: 'the kubeconfig gets the owner of this file' },
  help: { kind: 'boolean', help: 'print the settings and exit' },
} as const satisfies SettingSpecs;

export interface SetupConfig {
  readonly stateDirectory: string;
  readonly apiServers: readonly string[];
  /** Empty: the store is Redis. */
  readonly storeServers: readonly string[];
  readonly nodes: readonly string[];
  readonly apiPorts: readonly number[];
  readonly consolePort: number;
  readonly componentUid: number;
  readonly redisUid: number;
  readonly ownerOf: string | undefined;
}

/** Returns `undefined` for `--help`. */
export function readSetupConfig(source: SettingSource): SetupConfig | undefined {
  const settings = readSettings(SETUP_SETTINGS, source);
  if (settings.help) return undefined;
  return {
    stateDirectory: settings['state-dir'],
    apiServers: settings['api-servers'],
    storeServers: settings['store-servers'],
    nodes: settings.nodes,
    apiPorts: settings['api-ports'].map(portOf),
    consolePort: settings['console-port'],
    componentUid: settings['component-uid'],
    redisUid: settings['redis-uid'],
    ownerOf: settings['owner-of'],
  };
}

function portOf(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port >= 1 && port <= 65_535) return port;
  throw new OperatorError({
    code: 'BadSetting',
    message: `--api-ports takes ports separated by commas, not "${text}"`,
    nextStep: 'Write for example --api-ports=7443,7444.',
    exitCode: 2,
  });
}
