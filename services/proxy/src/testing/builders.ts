import {
  type Endpoint,
  type EndpointSlice,
  NO_NODE_INFO,
  type Node,
  type Service,
  type ServicePort,
  type ServiceSpec,
} from '@holdfast/api';

export interface ServiceSketch extends Partial<Omit<ServiceSpec, 'ports'>> {
  readonly name?: string;
  readonly labels?: Record<string, string>;
  readonly ports?: readonly Partial<ServicePort>[];
  readonly ingress?: readonly { readonly ip: string; readonly ipMode?: string }[];
}

export function service({ name = 'web', labels, ports = [{}], ingress, ...spec }: ServiceSketch = {}): Service {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace: 'default', name, uid: `uid-${name}`, ...(labels === undefined ? {} : { labels }) },
    spec: {
      type: 'ClusterIP',
      clusterIP: '10.96.0.1',
      ...spec,
      ports: ports.map((port) => ({ port: 80, protocol: 'TCP', targetPort: 8080, ...port })),
    },
    status: { loadBalancer: { ingress: (ingress ?? []).map((each) => ({ ...each })) } },
  };
}

export interface EndpointSketch {
  readonly address: string;
  readonly node?: string;
  readonly ready?: boolean;
  readonly serving?: boolean;
  readonly terminating?: boolean;
  readonly zones?: readonly string[];
}

export function slice(
  endpoints: readonly EndpointSketch[],
  { of = 'web', port = 8080, protocol = 'TCP', portName = '', name = 'web-1' } = {},
): EndpointSlice {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { namespace: 'default', name, labels: { 'kubernetes.io/service-name': of } },
    addressType: endpoints[0]?.address.includes(':') === true ? 'IPv6' : 'IPv4',
    endpoints: endpoints.map(endpoint),
    ports: [{ name: portName, port, protocol }],
  };
}

const endpoint = ({
  address,
  node = 'a',
  ready = true,
  serving = ready,
  terminating = false,
  zones,
}: EndpointSketch): Endpoint => ({
  addresses: [address],
  conditions: { ready, serving, terminating },
  nodeName: node,
  ...(zones === undefined ? {} : { hints: { forZones: zones.map((name) => ({ name })) } }),
});

export function node(
  name: string,
  { address = '192.0.2.1', podCIDRs, zone }: { address?: string; podCIDRs?: readonly string[]; zone?: string } = {},
): Node {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, ...(zone === undefined ? {} : { labels: { 'topology.kubernetes.io/zone': zone } }) },
    spec: podCIDRs === undefined ? {} : { podCIDRs: [...podCIDRs] },
    status: {
      addresses: [{ type: 'InternalIP', address }],
      daemonEndpoints: { kubeletEndpoint: { Port: 0 } },
      nodeInfo: { ...NO_NODE_INFO },
    },
  };
}
