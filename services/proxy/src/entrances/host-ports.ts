import { isPodFinished, type Pod, sidecarsOf } from '@holdfast/api';
import type { Place } from './port.ts';

/** A port of this machine that leads to a port of a pod. */
export interface HostPort {
  /** Equal for two ports that cannot be open at the same time. */
  readonly id: string;
  readonly pod: Pod;
  readonly protocol: 'TCP' | 'UDP';
  readonly at: Place;
  readonly to: Place;
}

const EVERY_ADDRESS = '0.0.0.0';

/** The host ports that pods want, each for the pod that was there first. */
export function wantedHostPorts(pods: readonly Pod[], most: number): ReadonlyMap<string, HostPort> {
  const wanted = new Map<string, HostPort>();
  for (const pod of pods.toSorted(byAge)) {
    for (const port of hostPortsOf(pod, most)) if (!wanted.has(port.id)) wanted.set(port.id, port);
  }
  return wanted;
}

/** At most `most` of one pod. */
function hostPortsOf(pod: Pod, most: number): readonly HostPort[] {
  const { spec, status } = pod;
  const address = status?.podIP ?? '';
  if (address === '' || spec.hostNetwork === true || isPodFinished(pod)) return [];
  return [...spec.containers, ...sidecarsOf(spec)]
    .flatMap(({ ports = [] }) => ports)
    .filter(({ hostPort = 0, protocol = 'TCP' }) => hostPort > 0 && protocol !== 'SCTP')
    .slice(0, most)
    .map(({ hostPort = 0, hostIP = '', containerPort, protocol: name }) => {
      const protocol = name === 'UDP' ? 'UDP' : 'TCP';
      const at = { host: hostIP === '' ? EVERY_ADDRESS : hostIP, port: hostPort };
      return { id: `${protocol} ${at.host} ${at.port}`, pod, protocol, at, to: { host: address, port: containerPort } };
    });
}

function byAge(a: Pod, b: Pod): number {
  const text = ({ metadata }: Pod): string =>
    `${metadata.creationTimestamp} ${metadata.namespace}/${metadata.name} ${metadata.uid}`;
  return text(a) < text(b) ? -1 : 1;
}
