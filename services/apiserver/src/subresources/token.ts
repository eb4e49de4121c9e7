import { type BoundObjectReference, NODES, PODS, type ResourceRef, SECRETS, type TokenRequest } from '@holdfast/api';
import {
  badRequest,
  conflict,
  forbiddenError,
  invalid,
  invalidObject,
  type JsonObject,
  notFound,
} from '@holdfast/machinery';
import { formatTime } from '@holdfast/platform';
import type { Core } from '../core.ts';
import { notServed } from '../http/not-served.ts';
import { nodeOf, type User } from '../identity.ts';
import { readLatest } from '../reader.ts';
import { keyOf } from '../served.ts';
import type { BoundObject } from '../tokens/service-account-tokens.ts';
import { missing } from '../verbs/write-results.ts';
import { readReview, reviewAnswer } from '../virtual/review.ts';
import type { Handler, Subresource } from './port.ts';

const KIND = { group: 'authentication.k8s.io', version: 'v1', kind: 'TokenRequest' } as const;
const DEFAULT_SECONDS = 3_600;
const SECONDS_MIN = 600;
const SECONDS_MAX = 2 ** 32;

/** Issues a token for a service account: for kubelets that project it into pods, and for `kubectl create token`. */
const create: Handler = async (core, context, definition) => {
  const { tokens } = core.access;
  if (tokens === undefined) throw notServed();
  const { namespace, name } = context.info;
  const review = readReview(context, KIND);
  const { spec } = review as TokenRequest;
  const account = await readLatest(core, keyOf(definition, namespace, name));
  if (account === undefined) throw missing(definition, name);
  const { uid = '' } = account.object.metadata;
  const seconds = spec.expirationSeconds ?? DEFAULT_SECONDS;
  checkSeconds(seconds);
  const bound: Partial<Bound> =
    spec.boundObjectRef === undefined ? {} : await findBound(core, namespace, name, spec.boundObjectRef);
  refuseForeignNode(context.user, bound);
  const audiences = (spec.audiences ?? []).length > 0 ? spec.audiences : tokens.audiences;
  const now = core.clock.now();
  const token = tokens.issue({ namespace, account: { name, uid }, audiences, seconds, ...bound });
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

/** A kubelet gets tokens for the pods that it runs, and for nothing else. */
function refuseForeignNode(user: User, bound: Partial<Bound>): void {
  const node = nodeOf(user);
  if (node === undefined || (bound.boundTo?.kind === 'pod' && bound.node?.name === node)) return;
  throw forbiddenError(
    { group: '', resource: 'serviceaccounts', name: '' },
    `node ${JSON.stringify(node)} may only request tokens that are bound to a pod running on it`,
  );
}

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
  const known = BOUND_KINDS.get(ref.kind ?? '');
  if (known === undefined)
    throw badRequest(
      `cannot bind token to object of type ${ref.apiVersion?.includes('/') === true ? ref.apiVersion : `/${ref.apiVersion ?? ''}`}, Kind=${ref.kind ?? ''}`,
    );
  const [kind, resource] = known;
  const name = ref.name ?? '';
  const object = await core.reader.fresh(resource, { namespace, name });
  if (object === undefined) throw notFound({ group: resource.group, resource: resource.plural, name });
  const { uid = '' } = object.metadata;
  if (ref.uid !== undefined && ref.uid !== '' && ref.uid !== uid) {
    throw conflict(
      { group: '', resource: resource.plural, name },
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
