import {
  findResource,
  isTerminating,
  type KubeObject,
  type Pod,
  type ResourceDefinition,
  SELF_FENCING,
} from '@holdfast/api';
import type { ApiResponse } from '@holdfast/client';
import {
  badRequest,
  conflict,
  isJsonObject,
  type JsonObject,
  type StatusError,
  unclassifiedError,
} from '@holdfast/machinery';
import { formatTime, invariant } from '@holdfast/platform';
import { asPod } from '../admission/typed-objects.ts';
import type { Core } from '../core.ts';
import { bodyFormat, bodyText, parseDocument } from '../http/body.ts';
import type { ResourceContext } from '../http/context.ts';
import { valueAnswer } from '../http/object-answer.ts';
import { storagePath, subjectOf } from '../objects/object-keys.ts';
import { refuseOtherNamespace } from '../verbs/place-in-namespace.ts';
import { updateObject } from '../verbs/update-object.ts';
import { readWriteOptions } from '../verbs/write-options.ts';
import { mismatch } from '../verbs/write-results.ts';
import { admitPosted } from './admit-posted.ts';
import type { Handler, Subresource } from './port.ts';

const KIND = { group: '', version: 'v1', kind: 'Binding' } as const;

/** SAFE-01: a pod is bound once, by compare-and-swap, and only the pod that the scheduler decided about. */
const bind: Handler = async (core, context, definition) => {
  const options = readWriteOptions(context, 'CreateOptions');
  const document = parseDocument(bodyText(context.request), bodyFormat(context.request), 'Binding').value;
  const wanted = readBinding(document);
  refuseOtherNamespace(wanted.namespace, context.info.namespace);
  if (wanted.name !== context.info.name) throw badRequest('name in URL does not match name in Binding object');
  refuseTarget(wanted);
  const { dryRun } = options;
  await admitPosted(core, context, definition, { kind: KIND, subresource: 'binding', document, dryRun });
  await updateObject(core, context, {
    definition,
    strategy: { subresource: 'binding', prepare: () => {}, validate: () => [] },
    dryRun,
    isReviewed: true,
    change: (current) => {
      const pod = asPod(current);
      refuseOther(definition, pod, wanted);
      return assigned(pod, wanted, formatTime(core.clock.now()));
    },
    isComplete: true,
  });
  return valueAnswer(context, 201, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 });
};

/** The old form of the same: the body names the pod. */
export const bindNamedPod = async (core: Core, context: ResourceContext): Promise<ApiResponse> => {
  const definition = findResource('', 'v1', 'pods');
  invariant(definition !== undefined, 'pods are served');
  const { name } = readBinding(parseDocument(bodyText(context.request), bodyFormat(context.request), 'Binding').value);
  if (name === '') throw badRequest('name is required');
  return bind(core, { ...context, info: { ...context.info, name } }, definition);
};

export const binding: Subresource = {
  name: 'binding',
  servedBy: (definition) => definition.group === '' && definition.plural === 'pods',
  verbs: { create: bind },
  body: KIND,
};

interface Wanted {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly kind: string;
  readonly node: string;
  readonly annotations: Readonly<Record<string, string>>;
}

function readBinding(document: JsonObject): Wanted {
  const metadata = isJsonObject(document['metadata']) ? document['metadata'] : {};
  const target = isJsonObject(document['target']) ? document['target'] : {};
  return {
    name: textOf(metadata['name']),
    namespace: textOf(metadata['namespace']),
    uid: textOf(metadata['uid']),
    resourceVersion: textOf(metadata['resourceVersion']),
    kind: textOf(target['kind']),
    node: textOf(target['name']),
    annotations: textMap(metadata['annotations']),
  };
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

function textMap(value: unknown): Readonly<Record<string, string>> {
  if (typeof value !== 'object' || value === null) return {};
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}

/** Kubernetes answers a malformed target with 500; clients have learned to live with it. */
function refuseTarget({ kind, node }: Wanted): void {
  const problems = [
    ...(kind === '' || kind === 'Node'
      ? []
      : [`target.kind: Unsupported value: ${JSON.stringify(kind)}: supported values: "Node", "<empty>"`]),
    ...(node === '' ? ['target.name: Required value'] : []),
  ];
  if (problems.length > 0)
    throw unclassifiedError(problems.length === 1 ? problems.join('') : `[${problems.join(', ')}]`);
}

/** The pod on its node; what does not change is the stored pod's. */
function assigned(pod: Pod, wanted: Wanted, now: string): KubeObject {
  refuseUnfit(pod);
  if (pod.spec === undefined) throw refusal(wanted, 'pod has no spec');
  const others = (pod.status?.conditions ?? []).filter((condition) => condition.type !== 'PodScheduled');
  const scheduled = { type: 'PodScheduled', status: 'True', lastTransitionTime: now, lastProbeTime: null };
  const bound: Pod = {
    ...pod,
    metadata: described(pod.metadata, wanted),
    spec: { ...pod.spec, nodeName: wanted.node },
    status: { ...pod.status, conditions: [...others, scheduled] },
  };
  return bound;
}

function described(metadata: Pod['metadata'], wanted: Wanted): Pod['metadata'] {
  const policy = wanted.annotations[SELF_FENCING];
  if (policy !== undefined && policy !== metadata.annotations?.[SELF_FENCING])
    throw refusal(wanted, `the annotation ${SELF_FENCING} may not change: the node and the control plane rely on it`);
  const annotations = { ...metadata.annotations, ...wanted.annotations };
  return { ...metadata, ...(Object.keys(annotations).length === 0 ? {} : { annotations }) };
}

function refuseOther(definition: ResourceDefinition, { metadata }: Pod, wanted: Wanted): void {
  const refuse = (field: 'UID' | 'ResourceVersion', values: { wanted: string; found: string }): void => {
    if (values.wanted === '' || values.wanted === values.found) return;
    const why = mismatch(storagePath(definition, metadata), field, values);
    throw conflict(subjectOf(definition, metadata.name ?? ''), why);
  };
  refuse('UID', { wanted: wanted.uid, found: metadata.uid ?? '' });
  refuse('ResourceVersion', { wanted: wanted.resourceVersion, found: metadata.resourceVersion ?? '' });
}

function refuseUnfit({ metadata, spec }: Pod): void {
  const named = { name: metadata.name ?? '' };
  if (isTerminating({ metadata })) {
    throw refusal(named, `pod ${named.name} is being deleted, cannot be assigned to a host`);
  }
  if ((spec?.nodeName ?? '') !== '') {
    throw refusal(named, `pod ${named.name} is already assigned to node ${JSON.stringify(spec?.nodeName)}`);
  }
  if ((spec?.schedulingGates ?? []).length > 0) {
    throw refusal(named, `pod ${named.name} has non-empty .spec.schedulingGates`);
  }
}

const refusal = (wanted: Pick<Wanted, 'name'>, why: string): StatusError =>
  conflict({ group: '', resource: 'pods/binding', name: wanted.name }, why);
