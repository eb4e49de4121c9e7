import type { SelfSubjectRulesReview } from '@holdfast/api';
import { badRequest } from '@holdfast/machinery';
import { aggregated } from '../authorization/rbac.ts';
import { valueAnswer } from '../http/object-answer.ts';
import { nodeOf } from '../identity.ts';
import type { VirtualResource } from './port.ts';
import { readReview } from './review.ts';

/** What a kubelet may do depends on the pods that it runs. */
const NODE_RULES = 'node authorizer does not support user rule resolution';

/** `kubectl auth can-i --list`. */
export const selfSubjectRulesReview: VirtualResource = {
  group: 'authorization.k8s.io',
  version: 'v1',
  kind: 'SelfSubjectRulesReview',
  plural: 'selfsubjectrulesreviews',
  singular: 'selfsubjectrulesreview',
  namespaced: false,
  verbs: {
    create: async (core, context) => {
      const review = readReview(context, selfSubjectRulesReview);
      const namespace = (review as SelfSubjectRulesReview).spec?.namespace ?? '';
      if (namespace === '') throw badRequest('no namespace on request');
      const { user } = context;
      const rules = core.access.rbac.rulesFor(user, namespace);
      const isNode = nodeOf(user) !== undefined;
      const problems = [...(isNode ? [NODE_RULES] : []), ...core.access.rbac.missingFor(user, namespace)];
      return valueAnswer(context, 201, {
        kind: review.kind,
        apiVersion: review.apiVersion,
        metadata: { creationTimestamp: null },
        spec: {},
        status: {
          resourceRules: rules.filter((rule) => (rule.resources ?? []).length > 0),
          nonResourceRules: rules
            .filter((rule) => (rule.nonResourceURLs ?? []).length > 0)
            .map(({ verbs, nonResourceURLs }) => ({ verbs, nonResourceURLs })),
          incomplete: isNode,
          ...(problems.length === 0 ? {} : { evaluationError: aggregated(problems) }),
        },
      });
    },
  },
};
