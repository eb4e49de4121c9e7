import {
  type Affinity,
  NO_NODE_INFO,
  type Node,
  type NodeCondition,
  type Pod,
  type PodSpec,
  type Taint,
} from '@holdfast/api';

export interface NodeShape {
  readonly cpu?: string;
  readonly memory?: string;
  readonly pods?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly taints?: readonly Taint[];
  readonly unschedulable?: boolean;
  /** Sizes in bytes by name. */
  readonly images?: Readonly<Record<string, number>>;
  /** Additional resources: devices, ephemeral storage. */
  readonly resources?: Readonly<Record<string, string>>;
  readonly conditions?: readonly NodeCondition[];
}

/** A ready node with 4 cpus and 8 Gi and its hostname label. */
export function buildNode(name: string, shape: NodeShape = {}): Node {
  const { cpu = '4', memory = '8Gi', pods = 110, labels = {}, taints = [], unschedulable = false } = shape;
  const allocatable = { cpu, memory, pods: String(pods), ...shape.resources };
  const images = Object.entries(shape.images ?? {}).map(([image, sizeBytes]) => ({ names: [image], sizeBytes }));
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, uid: `uid-${name}`, labels: { 'kubernetes.io/hostname': name, ...labels } },
    spec: { taints: [...taints], ...(unschedulable ? { unschedulable } : {}) },
    status: {
      allocatable,
      capacity: allocatable,
      daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
      nodeInfo: NO_NODE_INFO,
      images,
      ...(shape.conditions === undefined ? {} : { conditions: [...shape.conditions] }),
    },
  };
}

export interface PodShape {
  readonly cpu?: string;
  readonly memory?: string;
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly nodeName?: string;
  readonly owner?: string;
  readonly affinity?: Affinity;
  readonly spec?: Partial<PodSpec>;
}

/** A pod with one container without requests. */
export function buildPod(name: string, shape: PodShape = {}): Pod {
  const { cpu, memory, namespace = 'default', labels = {}, nodeName, owner, affinity, spec = {} } = shape;
  const requests = { ...(cpu === undefined ? {} : { cpu }), ...(memory === undefined ? {} : { memory }) };
  const controller = {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    name: owner ?? '',
    uid: owner ?? '',
    controller: true,
  };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace,
      uid: `uid-${namespace}-${name}`,
      labels: { ...labels },
      ...(owner === undefined ? {} : { ownerReferences: [controller] }),
    },
    spec: {
      containers: [{ name: 'c', image: 'i', resources: { requests } }],
      ...(nodeName === undefined ? {} : { nodeName }),
      ...(affinity === undefined ? {} : { affinity }),
      ...spec,
    },
    status: { phase: 'Pending' },
  };
}
