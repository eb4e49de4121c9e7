import { type ClusterNames, createClusterNames } from '@holdfast/kubelet/cluster-names';
import { ADMIN_USER, CLUSTER_DNS_USER } from '@holdfast/pki/credentials';
import { opened, Running, type Service } from '@holdfast/platform';
import type { RelayedServer } from '@holdfast/proxy';
import { API_SERVER, API_SERVICE_ADDRESS, DNS_SERVER, DNS_SERVICE_ADDRESS } from '../pod-network/cluster-addresses.ts';
import { hostOnMachine, isOnlyOnMachine } from './api-place.ts';
import type { ComponentsDeps } from './components.ts';
import { publishDns } from './dns-service.ts';

const API_SERVICE_PORT = 443;

/** The servers of this process that containers reach at cluster addresses, which this machine has while it runs. */
export interface ContainerAnswers extends Service {
  /** Absent: DNS is elsewhere. */
  readonly names: ClusterNames | undefined;
  /** For the rules of services: they leave these addresses alone. */
  readonly relayed: readonly RelayedServer[];
}

/**
 * Absent: nothing here routes services for containers. The API is carried when it listens only for programs of this machine,
 * else the rules lead to it.
 */
export function createContainerAnswers(deps: ComponentsDeps): ContainerAnswers | undefined {
  const { config, containerServices } = deps;
  if (containerServices === undefined) return undefined;
  const names = config.clusterDns === undefined ? createContainerNames(deps) : undefined;
  const carriesApi = isOnlyOnMachine(config.host);
  const parts: readonly Part[] = [
    ...(names === undefined ? [] : [{ what: 'DNS', begin: (running: Running) => openDns(deps, names, running) }]),
    ...(carriesApi ? [{ what: 'the API', begin: (running: Running) => openApi(deps, running) }] : []),
  ].map((part) => ({ ...part, running: new Running(deps.machine) }));
  let starting: Promise<unknown> | undefined;
  return {
    name: 'API and DNS for containers',
    names,
    relayed: [...(carriesApi ? [API_SERVER] : []), ...(names === undefined ? [] : [DNS_SERVER])],
    start: async () => {
      starting ??= Promise.all(parts.map((part) => startPart(deps, part)));
      await starting;
    },
    stop: async () => {
      await starting;
      await Promise.all(parts.map(({ running }) => running.stop()));
    },
  };
}

interface Part {
  readonly what: string;
  readonly running: Running;
  readonly begin: (running: Running) => Promise<void>;
}

/** One that fails gives its address back, and leaves the other alone. */
async function startPart({ machine }: ComponentsDeps, { what, running, begin }: Part): Promise<void> {
  try {
    await running.begin(() => begin(running));
  } catch (error) {
    machine.log.error(`containers do not reach ${what} at its cluster address`, { error });
  }
}

const createContainerNames = ({ machine, bus, front }: ComponentsDeps): ClusterNames =>
  createClusterNames({
    ...machine,
    bus,
    client: front.clientOf(CLUSTER_DNS_USER),
    address: DNS_SERVICE_ADDRESS,
    isRouted: () => true,
  });

async function openDns({ machine, front }: ComponentsDeps, names: ClusterNames, running: Running): Promise<void> {
  await holdAddress(running, DNS_SERVICE_ADDRESS);
  await running.start(names);
  if (names.address() === undefined) throw new Error(`another program has port 53 of ${DNS_SERVICE_ADDRESS}`);
  void publishDns(front.clientOf(ADMIN_USER), machine.log);
}

async function holdAddress(running: Running, address: string): Promise<void> {
  const { addMachineAddress, removeMachineAddress } = await import('@holdfast/kubelet/pod-network');
  await addMachineAddress(address);
  running.add(opened(`the address ${address}`, () => removeMachineAddress(address)));
}

async function openApi({ machine, config, front }: ComponentsDeps, running: Running): Promise<void> {
  await holdAddress(running, API_SERVICE_ADDRESS);
  const { Connections, createDirectDial, openTcpPort } = await import('@holdfast/proxy');
  const connections = new Connections(createDirectDial(machine.clock));
  const through = { entrance: 'API', namespace: 'default' };
  const port = await openTcpPort({ host: API_SERVICE_ADDRESS, port: API_SERVICE_PORT }, (socket) => {
    const to = { host: hostOnMachine(config.host), port: front.https.address().port };
    void connections.carry(socket, { ...through, to });
  });
  running.add(opened('the API at its cluster address', () => port.close()));
}
