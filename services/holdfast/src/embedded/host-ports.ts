import type { PodNetwork } from '@holdfast/kubelet/pod-network';
import { PROXY_USER } from '@holdfast/pki/credentials';
import type { Service } from '@holdfast/platform';
import type { ComponentsDeps } from './components.ts';

/** Host ports of pods with a network of their own, at this machine. They begin with the first pod. */
export function createHostPorts({ machine, bus, front, nodeNames }: ComponentsDeps, network: PodNetwork): Service {
  let entrances: Promise<Service> | undefined;
  let unsubscribe = (): void => {};
  const begin = async (): Promise<Service> => {
    const { HostPortEntrances, openTcpPort, openUdpPort } = await import('@holdfast/proxy');
    const client = front.clientOf(PROXY_USER);
    const dial = (place: { readonly host: string; readonly port: number }) => network.dial(place);
    const made = new HostPortEntrances({
      ...machine,
      bus,
      client,
      nodeNames: nodeNames.real,
      dial,
      openTcpPort,
      dialDatagrams: (place, listener) => network.dialDatagrams(place, listener),
      openUdpPort,
    });
    await made.start();
    return made;
  };
  return {
    name: 'host ports',
    start: async () => {
      unsubscribe = network.onOpen(() => {
        entrances ??= begin();
        entrances.catch((error: unknown) => machine.log.error('host ports of pods are not opened', { error }));
      });
    },
    stop: async () => {
      unsubscribe();
      await (await entrances?.catch(() => undefined))?.stop();
    },
  };
}
