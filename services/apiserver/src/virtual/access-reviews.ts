import type { KubeObject, LocalSubjectAccessReview, SelfSubjectAccessReview, SubjectAccessReview } from '@holdfast/api';
import type { ApiResponse } from '@holdfast/client';
import { badRequest, type JsonObject } from '@holdfast/machinery';
import { isAllowed } from '../authorization/chain.ts';
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
  const namespace = spec?.resourceAttributes?.namespace ?? '';
  if (namespace !== context.info.namespace) {
    throw badRequest(
      `spec.resourceAttributes.namespace must match namespace: ${JSON.stringify(namespace)} is not ${JSON.stringify(context.info.namespace)}`,
    );
  }
  return decide(core, context, review, { user: subjectOf(spec), asked: spec });
}

type Spec = SubjectAccessReview['spec'];
type Asked = Pick<Spec, 'resourceAttributes' | 'nonResourceAttributes'>;

function subjectOf(spec: Spec | undefined): User {
  const { user = '', groups = [], uid } = spec ?? {};
  if (user === '' && groups.length === 0) throw badRequest('at least one of user or group must be specified');
  return { name: user, groups, ...(uid === undefined ? {} : { uid }) };
}

async function decide(
  core: Core,
  context: ResourceContext,
  review: KubeObject,
  question: { readonly user: User; readonly asked: Asked | undefined },
): Promise<ApiResponse> {
  const info = infoOf(question.asked ?? {});
  const reason = await isAllowed(core.access.authorizers, question.user, info);
  const told = reason === undefined || reason.startsWith('member of') ? {} : { reason };
  const status: JsonObject = { allowed: reason !== undefined, ...told };
  return reviewAnswer(core, context, review, { status });
}

function infoOf({ resourceAttributes, nonResourceAttributes }: Asked): RequestInfo {
  if ((resourceAttributes === undefined) === (nonResourceAttributes === undefined)) {
    throw badRequest('exactly one of nonResourceAttributes or resourceAttributes must be specified');
  }
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
