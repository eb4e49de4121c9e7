import type { Pod, ResourceDefinition } from '@holdfast/api';
import type { ApiResponse } from '@holdfast/client';
import { badRequest, type JsonObject, ownValue, StatusError } from '@holdfast/machinery';
import { withoutBearerProtocols } from '@holdfast/platform/websocket';
import { asPod } from '../admission/typed-objects.ts';
import { readLatest } from '../cache/reader.ts';
import type { Core } from '../core.ts';
import type { ResourceContext } from '../http/context.ts';
import { isTrue } from '../http/request-info.ts';
import { keyOf } from '../objects/object-keys.ts';
import { missing } from '../verbs/write-results.ts';
import { admitConnection } from './admit-connection.ts';
import { containerOf } from './container-of.ts';
import type { Handler, Subresource } from './port.ts';

/** Streams to and from the processes of a pod: the kubelet of its node speaks with the client, this server only joins them. */
const onPods = (name: string, handler: Handler): Subresource => ({
  name,
  servedBy: (definition) => definition.group === '' && definition.plural === 'pods',
  verbs: { create: handler, get: handler },
  body: { group: '', version: 'v1', kind: KINDS.get(name) ?? '' },
});

const KINDS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    exec: 'PodExecOptions',
    attach: 'PodAttachOptions',
    portforward: 'PodPortForwardOptions',
  }),
);

/** The query as the object that admission sees. */
function optionsOf(name: string, query: URLSearchParams): JsonObject & { readonly kind: string } {
  const kind = KINDS.get(name) ?? '';
  const flags = ['stdin', 'stdout', 'stderr', 'tty'].filter((flag) => isTrue(query.get(flag)));
  const ports = query
    .getAll('ports')
    .flatMap((text) => text.split(','))
    .map(Number);
  return {
    kind,
    apiVersion: 'v1',
    ...Object.fromEntries(flags.map((flag) => [flag, true])),
    ...(query.has('container') ? { container: query.get('container') } : {}),
    ...(query.has('command') ? { command: query.getAll('command') } : {}),
    ...(ports.length > 0 ? { ports } : {}),
  };
}

const exec: Handler = async (core, context, definition) => {
  const { query } = context.request;
  const pod = await podOf(core, context, definition);
  const path = containerPath('exec', pod, query);
  const command = query.getAll('command');
  if (command.length === 0) throw badRequest('you must specify at least one command for the container');
  const asked = streamQuery(query);
  for (const word of command) asked.append('command', word);
  await admitConnection(core, context, definition, optionsOf('exec', query));
  return passOn(core, context, { pod, path, query: asked });
};

const attach: Handler = async (core, context, definition) => {
  const pod = await podOf(core, context, definition);
  const { query } = context.request;
  const path = containerPath('attach', pod, query);
  await admitConnection(core, context, definition, optionsOf('attach', query));
  return passOn(core, context, { pod, path, query: streamQuery(query) });
};

const portForward: Handler = async (core, context, definition) => {
  const pod = await podOf(core, context, definition);
  const { namespace = '', name = '', uid = '' } = pod.metadata;
  const ports = context.request.query.getAll('ports').flatMap((text) => text.split(','));
  const asked = new URLSearchParams();
  for (const port of ports) asked.append('port', port);
  await admitConnection(core, context, definition, optionsOf('portforward', context.request.query));
  return passOn(core, context, { pod, path: `/portForward/${namespace}/${name}/${uid}`, query: asked });
};

export const podExec = onPods('exec', exec);
export const podAttach = onPods('attach', attach);
export const podPortForward = onPods('portforward', portForward);

async function podOf(core: Core, context: ResourceContext, definition: ResourceDefinition): Promise<Pod> {
  const { namespace, name } = context.info;
  const object = await readLatest(core, keyOf(definition, namespace, name));
  if (object === undefined) throw missing(definition, name);
  return asPod(object.object);
}

/** The uid too: a pod of the same name that comes next is another pod. */
function containerPath(route: string, pod: Pod, query: URLSearchParams): string {
  const { namespace = '', name = '', uid = '' } = pod.metadata;
  return `/${route}/${namespace}/${name}/${uid}/${containerOf(pod, query.get('container') ?? '')}`;
}

/** Kubelets have other names for the same. */
const STREAM_NAMES = [
  ['stdin', 'input'],
  ['stdout', 'output'],
  ['stderr', 'error'],
  ['tty', 'tty'],
] as const;

function streamQuery(query: URLSearchParams): URLSearchParams {
  const asked = new URLSearchParams();
  for (const [name, ofKubelet] of STREAM_NAMES) if (isTrue(query.get(name))) asked.set(ofKubelet, '1');
  return asked;
}

/** The client headers that the protocols need: its credentials are not forwarded. */
const PASSED_HEADERS = [
  'connection',
  'upgrade',
  'sec-websocket-key',
  'sec-websocket-version',
  'sec-websocket-protocol',
  'x-stream-protocol-version',
] as const;

interface Asked {
  readonly pod: Pod;
  readonly path: string;
  readonly query: URLSearchParams;
}

function passOn(core: Core, context: ResourceContext, { pod, path, query }: Asked): Promise<ApiResponse> {
  const { name = '' } = pod.metadata;
  const node = pod.spec?.nodeName ?? '';
  if (node === '') throw badRequest(`pod ${name} does not have a host assigned`);
  if (core.nodes === undefined) {
    throw new StatusError({
      code: 501,
      message: `${context.info.subresource} of pods is not supported by this server: it has no connection to kubelets`,
      details: { name, kind: 'pods' },
    });
  }
  const { signal, method } = context.request;
  const headers = withoutBearerProtocols(context.request.headers);
  return core.nodes.request(node, {
    method,
    path,
    query,
    headers: Object.fromEntries(
      PASSED_HEADERS.flatMap((each) => {
        const value = ownValue(headers, each);
        return value === undefined ? [] : [[each, value]];
      }),
    ),
    ...(signal === undefined ? {} : { signal }),
  });
}
