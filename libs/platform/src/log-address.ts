import type { SettingSpecs } from './config.ts';
import { OperatorError } from './errors.ts';
import { withoutCredentials } from './store-address.ts';

const REPLICAS_MAX = 5;

export const LOG_ACCESS_SETTINGS = {
  'store-user': { kind: 'string', help: 'NATS user that owns the log' },
  'store-password-file': { kind: 'file', help: 'File with the password of that user' },
  'store-replicas': {
    kind: 'integer',
    help: 'NATS servers that hold a copy of the log; 1 only for experiments',
    default: 3,
    min: 1,
    max: REPLICAS_MAX,
  },
} as const satisfies SettingSpecs;

/** True for the addresses of NATS servers, which hold a log, in `--store`. */
export const isLogAddress = (text: string): boolean => /^(nats|tls):\/\//.test(text);

/** Reads the addresses of the NATS servers in `--store`. Throws an OperatorError that names the accepted form. */
export function readLogAddresses(text: string): readonly string[] {
  const servers = text.split(',').map((server) => server.trim());
  const [first = ''] = servers;
  const scheme = first.slice(0, first.indexOf(':'));
  if (servers.every((server) => isHostAndPort(server, scheme))) return servers;
  throw new OperatorError({
    code: 'BadSetting',
    message: `--store takes nats://host:port,nats://host:port,nats://host:port (or tls:// for all), not "${servers.map(withoutCredentials).join(',')}"`,
    nextStep:
      'Give every server of the NATS cluster, separated by commas; user and password go into --store-user and --store-password-file.',
    exitCode: 2,
  });
}

function isHostAndPort(server: string, scheme: string): boolean {
  return new RegExp(`^${scheme}://([A-Za-z0-9._-]+|\\[[0-9a-fA-F:]+\\])(:\\d{1,5})?$`).test(server);
}
