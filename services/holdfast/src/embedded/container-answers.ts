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
  const running = new Running(deps.machine);
  let starting: Promise<void> | undefined;
  const begin = async (): Promise<void> => {
    if (names !== undefined) {
      await holdAddress(running, DNS_SERVICE_ADDRESS);
      await running.start(names);
      void publishDns(deps.front.clientOf(ADMIN_USER), deps.machine.log);
    }
    if (!carriesApi) return;
    await holdAddress(running, API_SERVICE_ADDRESS);
    await openApi(deps, running);
  };
  const told = async (): Promise<void> => {
    try {
      await begin();
    } catch (error) {
      deps.machine.log.error('containers do not reach the API or DNS at their cluster addresses', { error });
    }
  };
  return {
    name: 'API and DNS for containers',
    names,
    relayed: [...(carriesApi ? [API_SERVER] : []), ...(names === undefined ? [] : [DNS_SERVER])],
    start: () => (starting ??= told()),
    stop: async () => {
      await starting;
      await running.stop();
    },
  };
}

const createContainerNames = ({ machine, bus, front }: ComponentsDeps): ClusterNames =>
  createClusterNames({
    ...machine,
    bus,
    client: front.clientOf(CLUSTER_DNS_USER),
    address: DNS_SERVICE_ADDRESS,
    isRouted: () => true,
  });

async function holdAddress(running: Running, address: string): Promise<void> {
  const { addMachineAddress, removeMachineAddress } = await import('@holdfast/kubelet/pod-network');
  await addMachineAddress(address);
  running.add(opened(`the address ${address}`, () => removeMachineAddress(address)));
}

async function openApi({ machine, config, front }: ComponentsDeps, running: Running): Promise<void> {
  const { Connections, createDirectDial, openTcpPort } = await import('@holdfast/proxy');
  const connections = new Connections(createDirectDial(machine.clock));
  const through = { entrance: 'API', namespace: 'default' };
  const port = await openTcpPort({ host: API_SERVICE_ADDRESS, port: API_SERVICE_PORT }, (socket) => {
    const to = { host: hostOnMachine(config.host), port: front.https.address().port };
    void connections.carry(socket, { ...through, to });
  });
  running.add(opened('the API at its cluster address', () => port.close()));
}
