import type { LabelSelector, Namespace, NetworkPolicy, NetworkPolicyPeer, NetworkPolicyPort, Pod } from '@holdfast/api';

/** The objects that decide about a flow. The oracle compares every policy with both ends of it, without an index. */
export interface PolicyWorld {
  readonly policies: readonly NetworkPolicy[];
  readonly pods: readonly Pod[];
  readonly namespaces: readonly Namespace[];
}

export interface Flow {
  readonly source: string;
  readonly destination: string;
  readonly protocol: string;
  readonly port: number;
}

export function mayFlow(world: PolicyWorld, flow: Flow): boolean {
  const source = ownerOf(world, flow.source);
  const destination = ownerOf(world, flow.destination);
  return (
    isOpen(world, { self: source, other: destination, otherAddress: flow.destination, type: 'Egress' }, flow) &&
    isOpen(world, { self: destination, other: source, otherAddress: flow.source, type: 'Ingress' }, flow)
  );
}

const ownerOf = ({ pods }: PolicyWorld, address: string): Pod | undefined =>
  pods.find(
    ({ spec, status }) =>
      spec.hostNetwork !== true &&
      !['Succeeded', 'Failed'].includes(status.phase ?? '') &&
      status.podIPs?.some(({ ip }) => ip === address) === true,
  );

interface Ends {
  /** The pod whose policies decide. */
  readonly self: Pod | undefined;
  readonly other: Pod | undefined;
  readonly otherAddress: string;
  readonly type: 'Ingress' | 'Egress';
}

function isOpen(world: PolicyWorld, { self, other, otherAddress, type }: Ends, flow: Flow): boolean {
  if (self === undefined) return true;
  const policies = world.policies.filter(
    ({ metadata, spec }) =>
      metadata.namespace === self.metadata.namespace &&
      spec.policyTypes?.includes(type) === true &&
      selects(spec.podSelector, self.metadata.labels),
  );
  if (policies.length === 0) return true;
  const destination = type === 'Ingress' ? self : other;
  return policies.some(({ metadata, spec }) => {
    const rules =
      type === 'Ingress'
        ? (spec.ingress ?? []).map(({ from, ports }) => ({ peers: from, ports }))
        : (spec.egress ?? []).map(({ to, ports }) => ({ peers: to, ports }));
    return rules.some(
      ({ peers = [], ports = [] }) =>
        (peers.length === 0 ||
          peers.some((peer) => isPeer(world, peer, { home: metadata.namespace, pod: other, address: otherAddress }))) &&
        (ports.length === 0 || ports.some((port) => isPort(port, flow, destination))),
    );
  });
}

function isPeer(
  { namespaces }: PolicyWorld,
  { ipBlock, namespaceSelector, podSelector }: NetworkPolicyPeer,
  { home, pod, address }: { home: string | undefined; pod: Pod | undefined; address: string },
): boolean {
  if (ipBlock !== undefined) {
    return isWithin(address, ipBlock.cidr) && !(ipBlock.except ?? []).some((each) => isWithin(address, each));
  }
  if (pod === undefined || (podSelector !== undefined && !selects(podSelector, pod.metadata.labels))) return false;
  if (namespaceSelector === undefined) return pod.metadata.namespace === home;
  const namespace = namespaces.find(({ metadata }) => metadata.name === pod.metadata.namespace);
  return namespace !== undefined && selects(namespaceSelector, namespace.metadata.labels);
}

function isPort({ port, endPort, protocol }: NetworkPolicyPort, flow: Flow, destination: Pod | undefined): boolean {
  if ((protocol ?? 'TCP') !== flow.protocol) return false;
  if (port === undefined) return true;
  if (typeof port === 'number') return flow.port >= port && flow.port <= (endPort ?? port);
  return (destination?.spec.containers ?? []).some(({ ports = [] }) =>
    ports.some((each) => each.name === port && each.containerPort === flow.port && each.protocol === flow.protocol),
  );
}

function selects({ matchLabels = {}, matchExpressions = [] }: LabelSelector = {}, labels: Pod['metadata']['labels']) {
  const have = new Map(Object.entries(labels ?? {}));
  const isMet = ({ key, operator, values = [] }: (typeof matchExpressions)[number]): boolean => {
    const value = have.get(key);
    if (operator === 'Exists') return value !== undefined;
    if (operator === 'DoesNotExist') return value === undefined;
    const isListed = value !== undefined && values.includes(value);
    return operator === 'In' ? isListed : !isListed;
  };
  return Object.entries(matchLabels).every(([key, value]) => have.get(key) === value) && matchExpressions.every(isMet);
}

const bitsOf = (address: string): string =>
  address
    .split('.')
    .map((part) => Number(part).toString(2).padStart(8, '0'))
    .join('');

function isWithin(address: string, cidr: string): boolean {
  const [network = '', length = '32'] = cidr.split('/');
  return bitsOf(address).slice(0, Number(length)) === bitsOf(network).slice(0, Number(length));
}
