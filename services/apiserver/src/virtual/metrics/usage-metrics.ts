import { type KubeObject, NODES, PODS, type Pod } from '@holdfast/api';
import type { ApiResponse } from '@holdfast/client';
import { notFound, parseFieldSelector, parseLabelSelector } from '@holdfast/machinery';
import type { Core } from '../../core.ts';
import type { ResourceContext } from '../../http/context.ts';
import { parsed } from '../../http/list-options.ts';
import { valueAnswer } from '../../http/object-answer.ts';
import type { VirtualHandler, VirtualResource } from '../port.ts';
import { type NodeUsage, nodeUsages, type Usage } from './node-usage.ts';

const GROUP = { group: 'metrics.k8s.io', version: 'v1beta1' } as const;
const API_VERSION = 'metrics.k8s.io/v1beta1';
/** The measurement window of kubelets. */
const WINDOW = '10s';

/** The resource usage of nodes from their kubelets; built in, so that nothing has to be installed. */
export const nodeMetrics: VirtualResource = {
  ...GROUP,
  kind: 'NodeMetrics',
  plural: 'nodes',
  singular: '',
  namespaced: false,
  verbs: {
    get: async (core, context) => one(context, await metricsOfNodes(core, context)),
    list: async (core, context) => many(context, 'NodeMetricsList', await metricsOfNodes(core, context)),
  },
};

export const podMetrics: VirtualResource = {
  ...GROUP,
  kind: 'PodMetrics',
  plural: 'pods',
  singular: '',
  namespaced: true,
  verbs: {
    get: async (core, context) => one(context, await metricsOfPods(core, context)),
    list: async (core, context) => many(context, 'PodMetricsList', await metricsOfPods(core, context)),
  },
};

type Handled = Awaited<ReturnType<VirtualHandler>>;

function one(context: ResourceContext, found: readonly object[]): Handled {
  const { resource, name } = context.info;
  const [metrics] = found;
  if (metrics === undefined) throw notFound({ group: GROUP.group, resource, name });
  return valueAnswer(context, 200, metrics);
}

function many(context: ResourceContext, kind: string, items: readonly object[]): ApiResponse {
  return valueAnswer(context, 200, { kind, apiVersion: API_VERSION, metadata: {}, items });
}

async function metricsOfNodes(core: Core, context: ResourceContext): Promise<readonly object[]> {
  const nodes = core.reader.list(NODES).filter(selected(context));
  const usages = await nodeUsages(
    core,
    nodes.map(({ metadata }) => metadata.name ?? ''),
  );
  return nodes.flatMap((node) => {
    const usage = usages.get(node.metadata.name ?? '')?.node;
    return usage === undefined ? [] : { kind: 'NodeMetrics', ...about(node), ...timeOf(usage), usage: amounts(usage) };
  });
}

/** Asks only nodes that run a selected pod. */
async function metricsOfPods(core: Core, context: ResourceContext): Promise<readonly object[]> {
  const { namespace } = context.info;
  const pods = core.reader
    .list(PODS, namespace === '' ? undefined : namespace)
    .filter(({ status }) => status.phase === 'Running')
    .filter(selected(context));
  const names = [...new Set(pods.flatMap(({ spec }) => spec.nodeName ?? []))];
  const usages = await nodeUsages(core, names);
  return pods.flatMap((pod) => metricsOfPod(pod, usages.get(pod.spec.nodeName ?? '')) ?? []);
}

/** A part of a pod would look like a small pod: it is omitted unless all containers are measured. */
function metricsOfPod(pod: Pod, node: NodeUsage | undefined): object | undefined {
  const found = node?.pods.find(({ uid }) => uid === pod.metadata.uid);
  const [first] = found?.containers ?? [];
  const running = (pod.status.containerStatuses ?? []).filter(({ state }) => state.running !== undefined);
  const isComplete = running.every(({ name }) => found?.containers.some((each) => each.name === name));
  if (found === undefined || first === undefined || !isComplete) return undefined;
  const containers = found.containers.map((each) => ({ name: each.name, usage: amounts(each) }));
  return { kind: 'PodMetrics', ...about(pod), ...timeOf(first), containers };
}

function about({ metadata }: KubeObject): object {
  const { name, namespace, creationTimestamp, labels } = metadata;
  const told = {
    name,
    ...(namespace === undefined ? {} : { namespace }),
    creationTimestamp,
    ...(labels === undefined ? {} : { labels }),
  };
  return { apiVersion: API_VERSION, metadata: told };
}

const timeOf = ({ time }: Usage): object => ({ timestamp: time, window: WINDOW });

const amounts = ({ cpuNanoCores, memoryBytes }: Usage): object => ({
  cpu: `${cpuNanoCores}n`,
  memory: `${Math.ceil(memoryBytes / 1024)}Ki`,
});

function selected({ info, request }: ResourceContext): (object: KubeObject) => boolean {
  const labels = parsed(() => parseLabelSelector(request.query.get('labelSelector') ?? ''));
  const fields = parsed(() => parseFieldSelector(request.query.get('fieldSelector') ?? ''));
  return ({ metadata }) => {
    if (info.name !== '' && metadata.name !== info.name) return false;
    const valueOf = (path: string): string => (path === 'metadata.name' ? metadata.name : metadata.namespace) ?? '';
    return labels.matches(metadata.labels) && fields.matches(valueOf);
  };
}
