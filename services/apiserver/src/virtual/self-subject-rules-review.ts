import type { PolicyRule, SelfSubjectRulesReview } from '@holdfast/api';
import { badRequest } from '@holdfast/machinery';
import { nodeOf } from '../authentication/identity.ts';
import { aggregated } from '../authorization/rbac.ts';
import { valueAnswer } from '../http/object-answer.ts';
import { RULES_REVIEWED_BYTES_MAX, RULES_REVIEWED_MAX } from '../limits.ts';
import { readReview } from '../verbs/review.ts';
import type { VirtualResource } from './port.ts';

/** A kubelet's permissions depend on its pods. */
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
      const all = core.access.rbac.rulesFor(user, namespace);
      const rules = firstOf(all);
      const isCut = rules.length < all.length;
      const isNode = nodeOf(user) !== undefined;
      const problems = [
        ...(isNode ? [NODE_RULES] : []),
        ...(isCut ? [`only the first ${rules.length} of ${all.length} rules are listed`] : []),
        ...core.access.rbac.missingFor(user, namespace),
      ];
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
          incomplete: isNode || isCut,
          ...(problems.length === 0 ? {} : { evaluationError: aggregated(problems) }),
        },
      });
    },
  },
};

/** The first rules up to the limit of a response. */
function firstOf(rules: readonly PolicyRule[]): readonly PolicyRule[] {
  let left = RULES_REVIEWED_BYTES_MAX;
  const end = rules.slice(0, RULES_REVIEWED_MAX).findIndex((rule) => {
    left -= JSON.stringify(rule).length;
    return left < 0;
  });
  return rules.slice(0, end < 0 ? RULES_REVIEWED_MAX : end);
}
