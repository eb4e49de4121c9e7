import { platform } from 'node:os';
import type { LoadBalancers } from '@holdfast/controller-manager';
import type { PodNetwork } from '@holdfast/kubelet/pod-network';
import { PROXY_USER } from '@holdfast/pki/credentials';
import type { Service } from '@holdfast/platform';
import type { Dial, Entrances, LocalLoadBalancers } from '@holdfast/proxy';
import type { ComponentsDeps } from './components.ts';

/** Addresses of load balancers. Other systems than Linux have one loopback address without further set-up. */
const LOOPBACK = platform() === 'linux' ? '127.96.0.0/16' : '127.0.0.1/32';

export interface ServiceEntrances extends Service {
  readonly balancers: LoadBalancers;
}

/**
 * The ways from this machine to services: load balancers at loopback addresses, and with `--expose` node ports. Nothing
 * is loaded before the first of them.
 */
export function createServiceEntrances(
  deps: ComponentsDeps,
  network: PodNetwork | undefined,
): ServiceEntrances | undefined {
  const { config, nodeNames, machine } = deps;
  if (config.expose === 'none' || nodeNames.real.length === 0) return undefined;
  let opening: Promise<Opened> | undefined;
  const open = (): Promise<Opened> => (opening ??= openEntrances(deps, network));
  let nodePorts: Service | undefined;
  return {
    name: 'ways to services',
    balancers: {
      ensure: async (service) => (await open()).balancers.ensure(service),
      release: async (key) => (await opening)?.balancers.release(key),
    },
    start: async () => {
      if (config.expose === undefined) return;
      const { NodePortEntrances } = await import('@holdfast/proxy');
      const { entrances } = await open();
      nodePorts = new NodePortEntrances({ ...machine, entrances, host: config.expose });
      await nodePorts.start();
    },
    stop: async () => {
      await nodePorts?.stop();
      await (await opening)?.entrances.stop();
    },
  };
}

interface Opened {
  readonly entrances: Entrances;
  readonly balancers: LocalLoadBalancers;
}

async function openEntrances(
  { machine, bus, front, config }: ComponentsDeps,
  network: PodNetwork | undefined,
): Promise<Opened> {
  const proxy = await import('@holdfast/proxy');
  const direct = proxy.createDirectDial(machine.clock);
  const dial: Dial = (place) => (network?.covers(place.host) === true ? network.dial(place) : direct(place));
  const client = front.clientOf(PROXY_USER);
  const entrances = new proxy.Entrances({ ...machine, bus, client, dial, openTcpPort: proxy.openTcpPort });
  const pool = new proxy.AddressPool(LOOPBACK);
  return { entrances, balancers: new proxy.LocalLoadBalancers(entrances, pool, config.expose) };
}
