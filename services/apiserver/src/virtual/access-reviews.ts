import {
  accessReviewErrors,
  type KubeObject,
  type LocalSubjectAccessReview,
  type SelfSubjectAccessReview,
  type SubjectAccessReview,
} from '@holdfast/api';
import type { ApiResponse } from '@holdfast/client';
import { type FieldError, invalidObject, type JsonObject, StatusError } from '@holdfast/machinery';
import type { User } from '../authentication/identity.ts';
import { isAllowed, whyNot } from '../authorization/chain.ts';
import type { Core } from '../core.ts';
import type { ResourceContext } from '../http/context.ts';
import type { RequestInfo } from '../http/request-info.ts';
import { refuseOtherNamespace } from '../verbs/place-in-namespace.ts';
import { readReview, reviewAnswer } from '../verbs/review.ts';
import type { VirtualResource } from './port.ts';
import { readSelectors } from './selector-attributes.ts';

const GROUP = { group: 'authorization.k8s.io', version: 'v1' } as const;

export const selfSubjectAccessReview: VirtualResource = {
  ...GROUP,
  kind: 'SelfSubjectAccessReview',
  plural: 'selfsubjectaccessreviews',
  singular: 'selfsubjectaccessreview',
  namespaced: false,
  verbs: {
    create: (core, context) => {
      const review = readReview(context, selfSubjectAccessReview) as SelfSubjectAccessReview;
      refuseWrong(accessReviewErrors(review));
      return decide(core, context, review, { user: context.user, asked: review.spec });
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
      const review = readReview(context, subjectAccessReview) as SubjectAccessReview;
      refuseWrong(accessReviewErrors(review));
      return decide(core, context, review, { user: subjectOf(review.spec), asked: review.spec });
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
  const review = readReview(context, localSubjectAccessReview) as LocalSubjectAccessReview;
  const { spec, metadata } = review;
  const { namespace } = context.info;
  refuseOtherNamespace(metadata.namespace, namespace);
  refuseWrong(accessReviewErrors(review, namespace));
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
  if (core.turns.isOver(context.user)) await core.turns.goOn(context.user);
  const info = infoOf(question.asked ?? {});
  if (core.turns.isOver(context.user)) await core.turns.goOn(context.user);
  const reason = await isAllowed(core.access.authorizers, question.user, info);
  const why = reason ?? whyNot(core.access.authorizers, question.user, info);
  const told = why === '' || why.startsWith('member of') ? {} : { reason: why };
  if (core.turns.isOver(context.user)) await core.turns.goOn(context.user);
  const { problems } = readSelectors(question.asked?.resourceAttributes ?? {});
  const status: JsonObject = {
    allowed: reason !== undefined,
    ...told,
    ...(problems.length === 0 ? {} : { evaluationError: problems.join('; ') }),
  };
  if (core.turns.isOver(context.user)) await core.turns.goOn(context.user);
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
  const { fieldSelector } = readSelectors(resourceAttributes);
  return {
    kind: 'resource',
    verb,
    path: '',
    group,
    version,
    resource,
    namespace,
    name,
    subresource,
    rest: '',
    ...(fieldSelector === undefined ? {} : { fieldSelector }),
  };
}
