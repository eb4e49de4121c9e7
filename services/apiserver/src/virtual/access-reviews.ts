import type { KubeObject, LocalSubjectAccessReview, SelfSubjectAccessReview, SubjectAccessReview } from '@holdfast/api';
import type { ApiResponse } from '@holdfast/client';
import {
  badRequest,
  type FieldError,
  invalid,
  invalidObject,
  type JsonObject,
  StatusError,
  Verbatim,
} from '@holdfast/machinery';
import { isAllowed, whyNot } from '../authorization/chain.ts';
import type { Core } from '../core.ts';
import type { ResourceContext } from '../http/context.ts';
import type { RequestInfo } from '../http/request-info.ts';
import type { User } from '../identity.ts';
import type { VirtualResource } from './port.ts';
import { readReview, reviewAnswer } from './review.ts';

const GROUP = { group: 'authorization.k8s.io', version: 'v1' } as const;

export const selfSubjectAccessReview: VirtualResource = {
  ...GROUP,
  kind: 'SelfSubjectAccessReview',
  plural: 'selfsubjectaccessreviews',
  singular: 'selfsubjectaccessreview',
  namespaced: false,
  verbs: {
    create: (core, context) => {
      const review = readReview(context, selfSubjectAccessReview);
      const { spec } = review as SelfSubjectAccessReview;
      refuseWrong(questionErrors(spec));
      return decide(core, context, review, { user: context.user, asked: spec });
    },
  },
};

export const subjectAccessReview: VirtualResource = {
  ...GROUP,
  kind: 'SubjectAccessReview',
  plural: 'subjectaccessreviews',
  singular: 'subjectaccessreview',
  namespaced: false,
  verbs: {
    create: (core, context) => {
      const review = readReview(context, subjectAccessReview);
      const { spec } = review as SubjectAccessReview;
      refuseWrong([...questionErrors(spec), ...subjectErrors(spec)]);
      return decide(core, context, review, { user: subjectOf(spec), asked: spec });
    },
  },
};

export const localSubjectAccessReview: VirtualResource = {
  ...GROUP,
  kind: 'LocalSubjectAccessReview',
  plural: 'localsubjectaccessreviews',
  singular: 'localsubjectaccessreview',
  namespaced: true,
  verbs: { create: reviewLocally },
};

function reviewLocally(core: Core, context: ResourceContext): Promise<ApiResponse> {
  const review = readReview(context, localSubjectAccessReview);
  const { spec } = review as LocalSubjectAccessReview;
  const { namespace } = context.info;
  refuseWrong([
    ...questionErrors(spec),
    ...subjectErrors(spec),
    ...placeErrors(spec, review.metadata.namespace || namespace),
  ]);
  if (review.metadata.namespace !== undefined && review.metadata.namespace !== namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  return decide(core, context, review, { user: subjectOf(spec), asked: spec });
}

type Spec = SubjectAccessReview['spec'];
type Asked = Pick<Spec, 'resourceAttributes' | 'nonResourceAttributes'>;

/** Kubernetes has forgotten the kind by the time it looks: only the group is named. */
function refuseWrong(errors: readonly FieldError[]): void {
  if (errors.length > 0) throw invalidReview(errors);
}

function invalidReview(errors: readonly FieldError[]): StatusError {
  const { body } = invalidObject({ group: GROUP.group, kind: '', name: '' }, errors);
  return new StatusError({
    code: body.code,
    reason: 'Invalid',
    message: body.message ?? '',
    details: { group: GROUP.group, causes: body.details?.causes ?? [] },
  });
}

function questionErrors({ resourceAttributes, nonResourceAttributes }: Asked = {}): readonly FieldError[] {
  if (resourceAttributes !== undefined && nonResourceAttributes !== undefined) {
    const detail = 'cannot be specified in combination with resourceAttributes';
    return [invalid('spec.nonResourceAttributes', goAttributes(nonResourceAttributes), detail)];
  }
  if (resourceAttributes !== undefined || nonResourceAttributes !== undefined) return [];
  const detail = 'exactly one of nonResourceAttributes or resourceAttributes must be specified';
  return [invalid('spec.resourceAttributes', null, detail)];
}

const subjectErrors = ({ user = '', groups = [] }: Partial<Spec> = {}): readonly FieldError[] =>
  user === '' && groups.length === 0
    ? [invalid('spec.user', user, 'at least one of user or group must be specified')]
    : [];

function placeErrors({ resourceAttributes, nonResourceAttributes }: Asked, namespace: string): readonly FieldError[] {
  const asked = resourceAttributes?.namespace ?? '';
  if (resourceAttributes !== undefined && asked !== namespace) {
    return [invalid('spec.resourceAttributes.namespace', asked, 'must match metadata.namespace')];
  }
  if (nonResourceAttributes === undefined) return [];
  const shown = goAttributes(nonResourceAttributes);
  return [invalid('spec.nonResourceAttributes', shown, 'disallowed on this kind of request')];
}

const goAttributes = ({ path = '', verb = '' }: NonNullable<Asked['nonResourceAttributes']>): Verbatim =>
  new Verbatim(`authorization.NonResourceAttributes{Path:${JSON.stringify(path)}, Verb:${JSON.stringify(verb)}}`);

const subjectOf = ({ user = '', groups = [], uid }: Partial<Spec> = {}): User => ({
  name: user,
  groups,
  ...(uid === undefined ? {} : { uid }),
});

async function decide(
  core: Core,
  context: ResourceContext,
  review: KubeObject,
  question: { readonly user: User; readonly asked: Asked | undefined },
): Promise<ApiResponse> {
  const info = infoOf(question.asked ?? {});
  const reason = await isAllowed(core.access.authorizers, question.user, info);
  const why = reason ?? whyNot(core.access.authorizers, question.user, info);
  const told = why === '' || why.startsWith('member of') ? {} : { reason: why };
  const status: JsonObject = { allowed: reason !== undefined, ...told };
  return reviewAnswer(core, context, review, { status });
}

function infoOf({ resourceAttributes, nonResourceAttributes }: Asked): RequestInfo {
  if (resourceAttributes === undefined) {
    return { kind: 'path', verb: nonResourceAttributes?.verb ?? '', path: nonResourceAttributes?.path ?? '' };
  }
  const {
    group = '',
    version = '',
    resource = '',
    namespace = '',
    name = '',
    subresource = '',
    verb = '',
  } = resourceAttributes;
  return { kind: 'resource', verb, path: '', group, version, resource, namespace, name, subresource, rest: '' };
}
