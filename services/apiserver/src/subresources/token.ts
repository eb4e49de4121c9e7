import {
  type BoundObjectReference,
  type KubeObject,
  NODES,
  PODS,
  type ResourceRef,
  SECRETS,
  type TokenRequest,
} from '@holdfast/api';
import {
  badRequest,
  conflict,
  forbiddenError,
  invalid,
  invalidObject,
  type JsonObject,
  notFound,
  type StatusError,
} from '@holdfast/machinery';
import { formatTime } from '@holdfast/platform';
import { refuseUnlessLive } from '../admission/plugins/namespace-lifecycle.ts';
import { nodeOf } from '../authentication/identity.ts';
import { readLatest } from '../cache/reader.ts';
import type { Core } from '../core.ts';
import type { ResourceContext } from '../http/context.ts';
import { notServed } from '../http/not-served.ts';
import { EXTENDED_POD_TOKEN_SECONDS, POD_TOKEN_SECONDS } from '../limits.ts';
import { keyOf, subjectOf } from '../objects/object-keys.ts';
import type { BoundObject } from '../tokens/service-account-tokens.ts';
import { readReview, reviewAnswer } from '../verbs/review.ts';
import { readWriteOptions } from '../verbs/write-options.ts';
import { missing } from '../verbs/write-results.ts';
import { admitPosted } from './admit-posted.ts';
import type { Handler, Subresource } from './port.ts';

const KIND = { group: 'authentication.k8s.io', version: 'v1', kind: 'TokenRequest' } as const;
const DEFAULT_SECONDS = 3_600;
const SECONDS_MIN = 600;
const SECONDS_MAX = 2 ** 32;
const EXTENDED = { seconds: EXTENDED_POD_TOKEN_SECONDS, warnAfterSeconds: POD_TOKEN_SECONDS };
const NO_WISHES: TokenRequest['spec'] = { audiences: [] };

/** Issues a token for a service account: for kubelets that project it into pods, and for `kubectl create token`. */
const create: Handler = async (core, context, definition) => {
  const { tokens } = core.access;
  if (tokens === undefined) throw notServed();
  const { namespace, name } = context.info;
  const review = readReview(context, KIND);
  await refuseUnlessLive(core.reader, namespace, () => subjectOf(definition, name));
  // An empty request gets the defaults.
  const { spec = NO_WISHES } = review as Partial<TokenRequest>;
  refuseOtherSubject(review, context);
  const account = await readLatest(core, keyOf(definition, namespace, name));
  if (account === undefined) throw missing(definition, name);
  const { uid = '' } = account.object.metadata;
  const seconds = spec.expirationSeconds ?? DEFAULT_SECONDS;
  checkSeconds(seconds);
  refuseUnbound(context, spec);
  const bound: Partial<Bound> =
    spec.boundObjectRef === undefined ? {} : await findBound(core, namespace, name, spec.boundObjectRef);
  refuseForeignNode(context, bound);
  const audiences = (spec.audiences ?? []).length > 0 ? spec.audiences : tokens.audiences;
  const { dryRun } = readWriteOptions(context, 'CreateOptions');
  const document = { ...review, spec: { ...spec, audiences, expirationSeconds: seconds } };
  await admitPosted(core, context, definition, { kind: KIND, subresource: 'token', document, dryRun });
  const now = core.clock.now();
  const isOfPod = bound.boundTo?.kind === 'pod' && audiences.every((each) => tokens.audiences.includes(each));
  const life = isOfPod && seconds === POD_TOKEN_SECONDS ? EXTENDED : { seconds };
  const token = tokens.issue({ namespace, account: { name, uid }, audiences, ...life, ...bound });
  const answered = {
    kind: KIND.kind,
    apiVersion: review.apiVersion,
    metadata: { name, namespace },
    spec: { audiences, expirationSeconds: seconds, boundObjectRef: boundRefOf(spec.boundObjectRef) },
  };
  return reviewAnswer(core, context, review, {
    answered,
    status: { token, expirationTimestamp: formatTime(now + seconds * 1000) },
    created: formatTime(now),
    subresource: 'token',
  });
};

export const token: Subresource = {
  name: 'token',
  servedBy: (definition) => definition.group === '' && definition.plural === 'serviceaccounts',
  verbs: { create },
  body: KIND,
};

/** The body need not say whose token it is. */
function refuseOtherSubject({ metadata }: KubeObject, { info }: ResourceContext): void {
  for (const part of ['name', 'namespace'] as const) {
    const sent = metadata[part] ?? '';
    if (sent === '' || sent === info[part]) continue;
    const why = `must match the service account ${part} if specified`;
    throw invalidObject({ ...KIND, name: info.name }, [invalid(`metadata.${part}`, sent, why)]);
  }
}

/** A kubelet gets tokens for the pods that it runs, and for nothing else. */
function refuseUnbound(context: ResourceContext, { boundObjectRef: ref }: TokenRequest['spec']): void {
  if (nodeOf(context.user) === undefined) return;
  const isPod = ref?.apiVersion === 'v1' && ref.kind === 'Pod' && (ref.name ?? '') !== '';
  if (!isPod) throw refusalFor(context, 'node requested token not bound to a pod');
  if ((ref.uid ?? '') === '') throw refusalFor(context, 'node requested token with a pod binding without a uid');
}

function refuseForeignNode(context: ResourceContext, bound: Partial<Bound>): void {
  const node = nodeOf(context.user);
  if (node === undefined || bound.node?.name === node) return;
  throw refusalFor(context, 'node requested token bound to a pod scheduled on a different node');
}

const refusalFor = ({ info: { name } }: ResourceContext, why: string): StatusError =>
  forbiddenError({ group: '', resource: 'serviceaccounts', name }, why);

const boundRefOf = (ref: BoundObjectReference | undefined): JsonObject | null =>
  ref === undefined ? null : Object.fromEntries(Object.entries(ref));

function checkSeconds(seconds: number): void {
  const refuse = (why: string): never => {
    throw invalidObject({ ...KIND, name: '' }, [invalid('spec.expirationSeconds', seconds, why)]);
  };
  if (seconds < SECONDS_MIN) refuse('may not specify a duration less than 10 minutes');
  if (seconds > SECONDS_MAX) refuse('may not specify a duration larger than 2^32 seconds');
}

const BOUND_KINDS: ReadonlyMap<string, readonly [BoundObject['kind'], ResourceRef]> = new Map([
  ['Pod', ['pod', PODS]],
  ['Secret', ['secret', SECRETS]],
  ['Node', ['node', NODES]],
]);

interface Bound {
  readonly boundTo: BoundObject;
  readonly node?: { readonly name: string; readonly uid: string };
}

async function findBound(core: Core, namespace: string, account: string, ref: BoundObjectReference): Promise<Bound> {
  const isCore = ref.apiVersion?.includes('/') !== true;
  const known = isCore ? BOUND_KINDS.get(ref.kind ?? '') : undefined;
  if (known === undefined)
    throw badRequest(
      `cannot bind token to object of type ${isCore ? `/${ref.apiVersion ?? ''}` : ref.apiVersion}, Kind=${ref.kind ?? ''}`,
    );
  const [kind, resource] = known;
  const name = ref.name ?? '';
  const object = await core.reader.fresh(resource, { namespace, name });
  if (object === undefined) throw notFound({ group: resource.group, resource: resource.plural, name });
  const { uid = '' } = object.metadata;
  if (ref.uid !== undefined && ref.uid !== '' && ref.uid !== uid) {
    throw conflict(
      { group: '', resource: ref.kind ?? '', name },
      `the UID in the bound object reference (${ref.uid}) does not match the UID in record. The object might have been deleted and then recreated`,
    );
  }
  if (kind !== 'pod') return { boundTo: { kind, name, uid } };
  return { boundTo: { kind, name, uid }, ...(await nodeOfPod(core, namespace, account, name)) };
}

async function nodeOfPod(core: Core, namespace: string, account: string, name: string): Promise<Pick<Bound, 'node'>> {
  const pod = await core.reader.fresh(PODS, { namespace, name });
  const own = pod?.spec?.serviceAccountName ?? '';
  if (own !== account) {
    throw badRequest(
      `cannot bind token for serviceaccount ${JSON.stringify(account)} to pod running with different serviceaccount ${JSON.stringify(own)}`,
    );
  }
  const nodeName = pod?.spec?.nodeName ?? '';
  const node = nodeName === '' ? undefined : await core.reader.fresh(NODES, { name: nodeName });
  return node === undefined ? {} : { node: { name: nodeName, uid: node.metadata.uid ?? '' } };
}
