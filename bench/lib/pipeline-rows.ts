import type { ApiRequest } from '../../libs/client/src/index.ts';
import { coral, deepened, REEF_NAMESPACE_PATH } from './custom-objects.ts';
import { schedulingPod } from './scheduling-objects.ts';

/** One kind of request, for the n-th object. */
export interface PipelineRow {
  readonly row: string;
  readonly status: number;
  readonly request: (index: number) => ApiRequest;
}

export const NAMESPACE = 'bench';
const CONFIG_MAPS = `/api/v1/namespaces/${NAMESPACE}/configmaps`;
const CORALS = `${REEF_NAMESPACE_PATH}/${NAMESPACE}/corals`;
const PODS = `/api/v1/namespaces/${NAMESPACE}/pods`;
/** With its metadata an object has about 500 bytes. */
const PAYLOAD = 'x'.repeat(250);
const NODES = 1_000;
const STATUS_AT = '2026-01-01T00:00:00Z';

export const JSON_TYPE = 'application/json';
const MERGE_TYPE = 'application/merge-patch+json';

/** Every object is created, changed, read and deleted, in this order. */
export const PIPELINE_ROWS: readonly PipelineRow[] = [
  { row: 'create ConfigMap', status: 201, request: (i) => send('admin', `POST ${CONFIG_MAPS}`, configMap(i)) },
  { row: 'get ConfigMap', status: 200, request: (i) => bare('admin', `GET ${CONFIG_MAPS}/cm-${i}`) },
  { row: 'patch ConfigMap', status: 200, request: (i) => merge('admin', `${CONFIG_MAPS}/cm-${i}`, touched(i)) },
  { row: 'update ConfigMap', status: 200, request: (i) => send('admin', `PUT ${CONFIG_MAPS}/cm-${i}`, configMap(i)) },
  { row: 'delete ConfigMap', status: 200, request: (i) => bare('admin', `DELETE ${CONFIG_MAPS}/cm-${i}`) },
  { row: 'create custom', status: 201, request: (i) => send('admin', `POST ${CORALS}`, coral(i)) },
  { row: 'get custom', status: 200, request: (i) => bare('admin', `GET ${CORALS}/coral-${i}`) },
  { row: 'patch custom', status: 200, request: (i) => merge('admin', `${CORALS}/coral-${i}`, deepened(i)) },
  { row: 'delete custom', status: 200, request: (i) => bare('admin', `DELETE ${CORALS}/coral-${i}`) },
  { row: 'create Pod', status: 201, request: (i) => send('admin', `POST ${PODS}`, pod(i)) },
  { row: 'bind Pod', status: 201, request: (i) => send('scheduler', `POST ${PODS}/p-${i}/binding`, binding(i)) },
  {
    row: 'patch Pod status',
    status: 200,
    request: (i) => merge(`node-${i % NODES}`, `${PODS}/p-${i}/status`, running(i)),
  },
  { row: 'get Pod', status: 200, request: (i) => bare('admin', `GET ${PODS}/p-${i}`) },
  { row: 'delete Pod', status: 200, request: (i) => bare('admin', `DELETE ${PODS}/p-${i}`) },
];

/** Tokens and who they stand for. */
export const PIPELINE_USERS = new Map<string, { readonly name: string; readonly groups: readonly string[] }>([
  ['admin', { name: 'admin', groups: ['system:masters'] }],
  ['scheduler', { name: 'system:kube-scheduler', groups: [] }],
]);
for (let i = 0; i < NODES; i++) {
  PIPELINE_USERS.set(`node-${i}`, { name: `system:node:node-${i}`, groups: ['system:nodes'] });
}

/** As from the network: text in bytes, headers in lower case. */
export function send(token: string, line: string, body: unknown, type = JSON_TYPE): ApiRequest {
  return { ...bare(token, line, type), body: Buffer.from(JSON.stringify(body)) };
}

const merge = (token: string, path: string, body: unknown): ApiRequest =>
  send(token, `PATCH ${path}`, body, MERGE_TYPE);

/** `line` is `GET /api/v1/...`. */
export function bare(token: string, line: string, type = JSON_TYPE): ApiRequest {
  const [method = '', path = ''] = line.split(' ');
  const headers = {
    host: '127.0.0.1:6443',
    authorization: `Bearer ${token}`,
    'user-agent': 'bench/1.0',
    accept: JSON_TYPE,
    'content-type': type,
  };
  return { method: method as ApiRequest['method'], path, query: new URLSearchParams(), headers };
}

const configMap = (index: number): unknown => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: `cm-${index}`, labels: { group: `g${index % 50}` } },
  data: { payload: PAYLOAD },
});

const touched = (index: number): unknown => ({ data: { touched: String(index) } });

/** A typical pod of a Deployment. */
function pod(index: number): unknown {
  const { spec } = schedulingPod('plain', index);
  const [first] = spec.containers;
  const name = `rs-${Math.floor(index / 100)}`;
  const main = {
    ...first,
    name: 'main',
    image: 'registry.example/app:1.4',
    ports: [{ name: 'http', containerPort: 8080 }],
  };
  const sidecar = { name: 'sidecar', image: 'registry.example/side:2.0', env: [{ name: 'MODE', value: 'quiet' }] };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `p-${index}`,
      namespace: NAMESPACE,
      labels: { app: 'web', tier: 'front', 'pod-template-hash': name },
      ownerReferences: [
        {
          apiVersion: 'apps/v1',
          kind: 'ReplicaSet',
          name,
          uid: `uid-${name}`,
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    spec: { ...spec, containers: index % 2 === 0 ? [main] : [main, sidecar] },
  };
}

const binding = (index: number): unknown => ({
  apiVersion: 'v1',
  kind: 'Binding',
  metadata: { name: `p-${index}`, namespace: NAMESPACE },
  target: { apiVersion: 'v1', kind: 'Node', name: `node-${index % NODES}` },
});

function running(index: number): unknown {
  const state = { running: { startedAt: STATUS_AT } };
  const about = {
    image: 'registry.example/app:1.4',
    imageID: 'sha256:0123',
    ready: true,
    restartCount: 0,
    started: true,
  };
  const condition = (type: string): unknown => ({
    type,
    status: 'True',
    lastProbeTime: null,
    lastTransitionTime: STATUS_AT,
  });
  return {
    status: {
      phase: 'Running',
      hostIP: '10.0.0.1',
      podIP: `10.1.${Math.floor(index / 250) % 250}.${index % 250}`,
      startTime: STATUS_AT,
      conditions: ['PodScheduled', 'Initialized', 'ContainersReady', 'Ready'].map(condition),
      containerStatuses: [{ name: 'main', containerID: `c://${index}`, state, lastState: {}, ...about }],
    },
  };
}
