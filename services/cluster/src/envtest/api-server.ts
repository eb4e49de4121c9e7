import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { createSystemClock, describeError } from '@holdfast/platform';
import type { Cluster } from '../access.ts';
import { RunningCluster } from '../cluster.ts';
import { createKeys } from '../keys.ts';
import { badOption, type ClusterOptions, type LoopbackHost, OPTIONAL_PARTS } from '../options.ts';
import type { ClusterKeys } from '../state.ts';
import { API_SERVER_FLAGS, type EnvtestEnvironment, NEEDLESS_FLAGS } from './api-server-flags.ts';
import { portIn, readFlags } from './flags.ts';

const SECURE_PORT = '6443';

/** A cluster behind the flags of `kube-apiserver`, with scheduler and controllers. `warn` receives what has no effect. */
export async function startApiServerOf(
  argv: readonly string[],
  environment: EnvtestEnvironment,
  warn: (line: string) => void,
): Promise<Cluster> {
  const { values, ignored } = readFlags(API_SERVER_FLAGS, argv);
  const silent = ignored.filter((name) => !NEEDLESS_FLAGS.has(name));
  if (silent.length > 0) warn(`these flags have no effect: ${silent.map((name) => `--${name}`).join(', ')}`);
  return RunningCluster.start({ options: optionsOf(values, environment), keys: await keysOf(values) });
}

function optionsOf(values: ReadonlyMap<string, string>, environment: EnvtestEnvironment): ClusterOptions {
  const disabled = (values.get('disable-admission-plugins') ?? '').split(',');
  // A second range, of IPv6, follows a comma.
  const network = values.get('service-cluster-ip-range')?.split(',')[0];
  const asked = (environment.without ?? '').split(',').filter((part) => part !== '');
  const parts = disabled.includes('ServiceAccount') ? [...asked, 'serviceAccountAdmission'] : asked;
  return {
    https: {
      port: portIn('secure-port', values.get('secure-port') ?? SECURE_PORT),
      host: hostOf(values.get('bind-address') ?? '127.0.0.1'),
    },
    hollowNodes: nodesOf(environment.hollowNodes ?? '0'),
    without: parts.map(partOf),
    ...(network === undefined ? {} : { serviceNetwork: network }),
  };
}

function hostOf(address: string): LoopbackHost {
  if (address === '::1' || address === '::') return '::1';
  if (address === '0.0.0.0' || address === 'localhost' || address.startsWith('127.')) return '127.0.0.1';
  throw badOption(`--bind-address ${address} is not an address of loopback`, 'Use 127.0.0.1.');
}

function nodesOf(text: string): number {
  if (/^\d{1,4}$/.test(text)) return Number(text);
  throw badOption(`HOLDFAST_HOLLOW_NODES has to be a number, not "${text}"`, 'Give a number from 0 to 9999.');
}

function partOf(name: string): (typeof OPTIONAL_PARTS)[number] {
  const part = OPTIONAL_PARTS.find((each) => each === name);
  if (part !== undefined) return part;
  throw badOption(`HOLDFAST_WITHOUT does not know "${name}"`, `Use ${OPTIONAL_PARTS.join(', ')}.`);
}

async function keysOf(values: ReadonlyMap<string, string>): Promise<ClusterKeys> {
  const folder = values.get('cert-dir') ?? '.';
  const certificate = values.get('tls-cert-file') ?? path.join(folder, 'apiserver.crt');
  const key = values.get('tls-private-key-file') ?? path.join(folder, 'apiserver.key');
  const signingKey = values.get('service-account-signing-key-file');
  const clientCa = values.get('client-ca-file');
  const issuer = values.get('service-account-issuer');
  const own = await createKeys(createSystemClock().now());
  return {
    pki: own.pki,
    server: { certificate: await read(certificate), key: await read(key) },
    serviceAccountKey: signingKey === undefined ? own.serviceAccountKey : await read(signingKey),
    ...(issuer === undefined ? {} : { serviceAccountIssuer: issuer }),
    ...(clientCa === undefined ? {} : { clientCa: await read(clientCa) }),
  };
}

const read = (file: string): Promise<string> =>
  readFile(file, 'utf8').catch((cause: unknown) => {
    throw badOption(`${file} cannot be read: ${describeError(cause)}`, 'Check the flag that names it, or --cert-dir.');
  });
